"""Times that depend on where a cluster runs, as settings of Dask: ``dpbb.timeouts``."""

DEFAULTS = {
    "rpc": 30.0,
    "greet": 5.0,
    "last-report": 2.0,
    "drain": 5.0,
    "close": 30.0,
    "store": 15.0,
    "store-open": 60.0,
    "beat": 10.0,
    "stale": 45.0,
}
"""Seconds. What each is for says docs/clusters.md."""


def timeout(name: str) -> float:
    """Return a setting in seconds; it may be a text such as ``"2m"``."""
    import dask.config  # not where this module is imported: it takes a while
    from dask.utils import parse_timedelta

    given = dask.config.get(f"dpbb.timeouts.{name}", DEFAULTS[name])
    return float(parse_timedelta(given, default="s"))
