"""The engine and its first device, or a skip that says why there is none."""

import pytest

from tests.parity.subject import Subject


@pytest.fixture(scope="session")
def gpu():
    """Engine and device, as a parity subject."""
    return Subject.of("gpu")
