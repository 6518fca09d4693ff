"""The page of Dask's dashboard; reads snapshots only."""
