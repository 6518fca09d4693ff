"""What people are told: ranges of time and counts."""

import math

from dpbb.progress.words import format_count, span_text

DAY = 86400


def test_ranges_of_time():
    assert span_text(7200, 7300) == "2 h"
    assert span_text(3 * DAY, 14610 * DAY, brief=True) == "3d-40y"
    assert span_text(2e6 * DAY, math.inf, brief=True) == ">1000y"


def test_any_count_is_written_in_few_characters():
    odd = [format_count(number) for number in (math.inf, math.nan, 10**400 + 1)]
    assert odd == ["∞", "\N{EN DASH}", "1.0e+400"]
    for exponent in range(-5, 308):
        for number in (10.0**exponent, 9.99999 * 10.0**exponent):
            assert len(format_count(number)) <= 9
