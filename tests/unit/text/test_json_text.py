"""JSON that every reader takes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpbb.text.json_text import json_text


@dataclass(frozen=True)
class Pair:
    name: str
    value: float


def test_numbers_that_are_not_finite_are_null():
    values = {"a": [1.5, math.inf, (math.nan, 2)], "b": Pair("x", -math.inf)}
    assert json_text(values) == (
        '{"a": [1.5, null, [null, 2]], "b": {"name": "x", "value": null}}'
    )


def test_everything_else_is_as_it_was():
    values = [1, np.float64(2.5), np.str_("NaN"), None, True]
    assert json.loads(json_text(values)) == values
    assert json_text([1], indent=1) == "[\n 1\n]"


@pytest.mark.parametrize("value", [np.zeros(1), [math.inf, 1j], Pair])
def test_what_has_no_form_is_refused(value):
    with pytest.raises(TypeError, match="has no form in JSON"):
        json_text(value)
