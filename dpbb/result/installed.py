"""Versions of what is installed, as results and certificates quote them."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("dpbb", "numpy", "numba", "distributed")


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of Python and of the packages that a result depends on."""
    found = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            found.append((package, "not installed"))
    return tuple(found)
