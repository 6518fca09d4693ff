import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop.times import MAX_TOTAL_TIME, as_times

NAN = math.nan


@pytest.mark.parametrize(
    "data",
    [
        [[1, 2], [3, 4]],
        ((1, 2), (3, 4)),
        [(1.0, 2), np.array([3, 4])],
        np.array([[1, 2], [3, 4]], ">u2"),
        np.ma.array([[1, 2], [3, 4]]),
        pd.DataFrame({"a": [1, 3], "b": [2.0, 4.0]}),
        pd.DataFrame({"a": [1, 3], "b": [2, 4]}, dtype="Int64"),
        [[np.uint8(1), np.float32(2)], [3, np.int64(4)]],
    ],
)
def test_every_kind_of_table_of_whole_numbers_is_taken(data):
    times = as_times(data)
    assert times.tolist() == [[1, 2], [3, 4]]
    assert times.dtype == np.int64


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected at least one job and one machine, got an empty table"),
        (np.empty((0, 3)), "an empty table of 0 rows and 3 columns"),
        ([[1, 2], [3]], "row 1: expected 2 processing times as in row 0, got 1"),
        ([1, 2], "row 0: expected a row of processing times, got 1"),
        (["12", "34"], "row 0: expected a row of processing times, got '12'"),
        (np.array([1, 2]), r"got 1 dimension\(s\); one machine is"),
        (np.array(5), r"got 0 dimension\(s\)"),
        ("ta001", "expected a two-dimensional table .* got 'ta001'"),
        ({1: 2}, "got an object of type dict"),
        ([[1, -2]], "row 0, column 1: expected a whole number >= 0, got -2"),
        ([[1], [NAN]], "row 1, column 0: expected a whole number >= 0, got nan"),
        (np.array([[1, NAN]]), "row 0, column 1: .* got nan"),
        ([[1, 2.5]], "row 0, column 1: .* got 2.5"),
        ([[1, -0.5]], "row 0, column 1: .* got -0.5"),
        ([[1, "2"]], "row 0, column 1: .* got '2'"),
        ([[1, None]], "row 0, column 1: .* got None"),
        ([[1, True]], "row 0, column 1: .* got True"),
        ([[1, Decimal(2)]], r"row 0, column 1: .* got Decimal\('2'\)"),
        (np.array([[True]]), "got values of type bool"),
        (np.array([["1"]]), "got values of type <U1"),
        (np.ma.array([[1, 2]], mask=[[0, 1]]), "a masked array with missing values"),
        (pd.DataFrame({"a": [1], "b": ["x"]}), "row 0, column 1: .* got 'x'"),
        (
            pd.DataFrame({"a": [1, None]}, dtype="Int64"),
            "row 1, column 0: .* got (<NA>|nan)",
        ),
        ([[MAX_TOTAL_TIME, 1]], "sum to at most 1,073,741,822 .* of 1,073,741,823"),
        ([[-(10**5000)]], "column 0: .* a value of type int that cannot be printed"),
        ([["x" * 500]], r"got 'x{76}\.\.\.$"),
        ([[10**5000]], "sum to at most 1,073,741,822"),
        (np.array([[1e30]]), "sum to at most 1,073,741,822"),
    ],
)
def test_bad_table_is_refused_with_what_was_expected_and_came(data, message):
    with pytest.raises(InstanceError, match=message):
        as_times(data)


def test_what_python_does_not_print_is_refused():
    """Not among the cases above: pytest prints them in the names of the tests."""
    with pytest.raises(InstanceError, match="a value of type int that cannot be"):
        as_times(10**5000)


def test_largest_allowed_sum_is_taken():
    assert as_times([[MAX_TOTAL_TIME - 1, 1]]).sum() == MAX_TOTAL_TIME
