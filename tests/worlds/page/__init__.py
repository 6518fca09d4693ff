"""The page of a cluster's dashboard, open in browsers."""
