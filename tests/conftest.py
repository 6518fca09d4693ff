"""What all tests share: hypothesis settings and the folder of reference data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the machines that run the tests are shared, and compilation is slow.
settings.register_profile("dpbb", deadline=None, print_blob=True)
settings.load_profile("dpbb")

SHARED = Path(
    os.environ.get("DPBB_SHARED", Path(__file__).resolve().parents[2] / "shared")
)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder with data and golden values; the test is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the repository: data and golden values")
    return SHARED
