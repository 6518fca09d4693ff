"""The state machine of one run: units, leases, donation, incumbent, ledger, snapshot."""
