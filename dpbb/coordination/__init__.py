"""The state machine of a run: units, leases, donation, incumbent, ledger, snapshot."""
