"""What people are told: ranges of time, the clock, ends."""

import math
from dataclasses import replace

import pytest

from dpbb.progress.base import STARTING
from dpbb.progress.words import details, format_count, span_text

DAY, YEAR = 86400, 365.25 * 86400


@pytest.mark.parametrize(
    ("low", "high", "text", "brief"),
    [
        (600, 2400, "10 to 40 min", "10-40m"), (0.2, 14.4, "0 to 14 s", "0-14s"),
        (600, 3.1 * 3600, "10 min to 3 h", "10m-3h"), (7200, 7300, "2 h", "2h"),
        (3 * DAY, 40 * YEAR, "3 days to 40 years", "3d-40y"),
        (3 * DAY, 4000 * YEAR, "more than 3 days", ">3d"),
        (5000 * YEAR, math.inf, "more than 1000 years", ">1000y"),
    ],
)  # fmt: skip
def test_ranges_of_time(low, high, text, brief):
    assert span_text(low, high) == text
    assert span_text(low, high, brief=True) == brief
    assert len(brief) <= 9


def test_counts():
    large = 9996, 999_600, 207_683_508_756, 1e60, 10**400 + 1
    said = ["10.0 k", "1.00 M", "208 G", "1.0e+60", "1.0e+400"]
    assert [*map(format_count, large)] == said
    odd = ["0.5", "∞", "\N{EN DASH}"]
    assert [*map(format_count, (0.5, math.inf, math.nan))] == odd


def test_nothing_is_too_large_to_be_written_in_few_characters():
    for exponent in (*range(-5, 40), 60, 200, 308):
        for number in (10.0**exponent, 9.99999 * 10.0 ** min(exponent, 307)):
            assert len(format_count(number)) <= 9
        assert len(format_count(10 ** max(exponent, 0) * 10**200)) <= 9


def test_compiling_is_no_trouble():
    shot = replace(STARTING, run_id="run", waits_for="compiling on 1 worker")
    assert [*details(shot)] == [("waiting", "compiling on 1 worker")]
