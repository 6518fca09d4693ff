"""Numbers as people read them."""

import math

import pytest

from dpbb.progress.words import format_count


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (0.5, "0.5"),
        (1e-9, "0"),
        (999.7, "1.00 k"),
        (9994, "9.99 k"),
        (9996, "10.0 k"),
        (1000, "1.00 k"),
        (12_345, "12.3 k"),
        (999_600, "1.00 M"),
        (207_683_508_756, "208 G"),
        (2.5e15, "2.50 P"),
        (999e18, "999 E"),
        (1e60, "1.0e+60"),
        (10**400 + 1, "1.0e+400"),
        (-(10**400), "-1.0e+400"),
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
