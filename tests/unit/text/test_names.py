"""Names of others, and shares."""

import pytest

from dpbb.text.names import clean, middle, percent


def test_what_would_steer_a_terminal_is_replaced():
    assert clean("a\x1b[31mb\n") == "a?[31mb?"


def test_long_names_are_shortened_in_the_middle():
    assert middle("ta056", 40) == "ta056"
    name = "".join(chr(97 + number % 26) for number in range(131))
    for width in (10, 11, 40):
        shown = middle(name, width)
        assert len(shown) == width
        begin, end = shown.split("…")
        assert name.startswith(begin)
        assert name.endswith(end)
        assert 0 <= len(begin) - len(end) <= 1
    assert middle(name, 131) == name


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
