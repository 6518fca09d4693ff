"""What people are told: ranges of time and counts."""

import math

import pytest

from dpbb.progress.words import format_count, span_text

YEAR = 365.25 * 86400


def test_ranges_of_time():
    assert span_text(7200, 7300) == "2 h"
    assert span_text(86400 * 3, YEAR * 40, brief=True) == "3d-40y"
    assert span_text(YEAR * 5000, math.inf, brief=True) == ">1000y"


@pytest.mark.parametrize("exponent", [*range(-5, 40), 60, 200, 308])
def test_nothing_is_too_large_to_be_written_in_few_characters(exponent):
    for number in (10.0**exponent, 9.99999 * 10.0 ** min(exponent, 307)):
        assert len(format_count(number)) <= 9
