"""What people are told: ranges of time and counts."""

import math

import pytest

from dpbb.progress.words import format_count, span_text

YEAR = 365.25 * 86400


@pytest.mark.parametrize(
    ("low", "high", "text", "brief"),
    [
        (7200, 7300, "2 h", "2h"), (86400 * 3, YEAR * 40, "3 days to 40 years", "3d-40y"),
        (YEAR * 5000, math.inf, "more than 1000 years", ">1000y"),
    ],
)  # fmt: skip
def test_ranges_of_time(low, high, text, brief):
    assert span_text(low, high) == text
    assert span_text(low, high, brief=True) == brief


@pytest.mark.parametrize("exponent", [*range(-5, 40), 60, 200, 308])
def test_nothing_is_too_large_to_be_written_in_few_characters(exponent):
    for number in (10.0**exponent, 9.99999 * 10.0 ** min(exponent, 307)):
        assert len(format_count(number)) <= 9
