"""Dask shell: scheduler plugin, worker plugin, the task of a unit, the run handle."""
