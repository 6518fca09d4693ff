"""Names of others, and shares."""

import pytest

from dpbb.text.names import clean, percent


def test_what_would_steer_a_terminal_is_replaced():
    assert clean("a\x1b[31mb\n") == "a?[31mb?"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (1e-300, "< 1e-10 %"),
        (0.2849, "28.49 %"),
        (0.99999999, "99.9999 %"),
        (3e-9, "3.0e-07 %"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text
