"""What people are told: ranges of time, the clock, ends."""

import math
from dataclasses import replace

import pytest

from dpbb.progress.base import STARTING
from dpbb.progress.words import details, format_count, span_text

YEAR = 365.25 * 86400


@pytest.mark.parametrize(
    ("low", "high", "text", "brief"),
    [
        (600, 2400, "10 to 40 min", "10-40m"),
        (0.2, 14.4, "0 to 14 s", "0-14s"),
        (600, 3.1 * 3600, "10 min to 3 h", "10m-3h"),
        (7200, 7300, "2 h", "2h"),
        (86400 * 3, YEAR * 40, "3 days to 40 years", "3d-40y"),
        (86400 * 3, YEAR * 4000, "more than 3 days", ">3d"),
        (YEAR * 5000, math.inf, "more than 1000 years", ">1000y"),
    ],
)
def test_ranges_of_time(low, high, text, brief):
    assert span_text(low, high) == text
    assert span_text(low, high, brief=True) == brief
    assert len(brief) <= 9


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.5"),
        (9996, "10.0 k"),
        (999_600, "1.00 M"),
        (207_683_508_756, "208 G"),
        (1e60, "1.0e+60"),
        (10**400 + 1, "1.0e+400"),
        (math.inf, "∞"),
        (math.nan, "–"),  # noqa: RUF001
    ],
)
def test_counts(number, text):
    assert format_count(number) == text


@pytest.mark.parametrize("exponent", [*range(-5, 40), 60, 200, 308])
def test_nothing_is_too_large_to_be_written_in_few_characters(exponent):
    for number in (10.0**exponent, 9.99999 * 10.0 ** min(exponent, 307)):
        assert len(format_count(number)) <= 9
    assert len(format_count(10 ** max(exponent, 0) * 10**200)) <= 9


def test_compiling_is_no_trouble():
    shot = replace(STARTING, run_id="run", waits_for="compiling on 1 worker")
    assert [*details(shot)] == [("waiting", "compiling on 1 worker")]
