"""Numbers as people read them."""

import pytest

from dpbb.dashboard.text import duration, percent, short, size


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (0.5, "0.5"),
        (1000, "1.00 k"),
        (12_345, "12.3 k"),
        (999_600, "1.00 M"),
        (207_683_508_756, "208 G"),
        (2.5e15, "2.50 P"),
    ],
)
def test_short(number, text):
    assert short(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (12.34, "12.3 s"),
        (59.97, "1 min 00 s"),
        (245, "4 min 05 s"),
        (3600 * 3.5, "3 h 30 min"),
        (86400 * 2 + 4 * 3600, "2 d 04 h"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (0.2849, "28.49 %"),
        (0.99999999, "99.9999 %"),
        (3e-9, "3.0e-07 %"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text


def test_size():
    assert size(999) == "999 B"
    assert size(6_159) == "6.16 kB"
