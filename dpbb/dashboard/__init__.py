"""The page ``/dpbb`` in Dask's dashboard: Bokeh documents that read snapshots only."""
