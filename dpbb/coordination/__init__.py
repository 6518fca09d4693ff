"""The state machine of a run: units, leases, donation, incumbent, ledger, snapshot.

Pure: no clock, thread, file or Dask in it. ``coordinator`` is what others call,
``book`` where every unit is, ``ledger`` the check of every full report, ``messages``
what travels.
"""
