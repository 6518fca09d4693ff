"""Many runs under faults on processes of Dask's own commands, which can be resumed."""
