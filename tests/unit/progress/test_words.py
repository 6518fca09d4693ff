"""What progress rows say of counts."""

import pytest

from dpbb.progress.words import format_count


@pytest.mark.parametrize("exponent", [*range(-5, 40), 60, 200, 308])
def test_nothing_is_too_large_to_be_written_in_few_characters(exponent):
    for number in (10.0**exponent, 9.99999 * 10.0 ** min(exponent, 307)):
        assert len(format_count(number)) <= 9
    assert len(format_count(10 ** max(exponent, 0) * 10**200)) <= 9
