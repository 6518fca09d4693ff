"""Conversion of any table of processing times to one checked, read-only array.

The one gate for values: files, the API and unpickled instances all pass here, so that
the engines need no checks of their own.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse, shown

MAX_TOTAL_TIME = 2**30 - 2
"""Largest allowed sum of all processing times of an instance.

Every makespan, front, back and bound is a sum of distinct operations, and a kernel
that bounds scheduled jobs along with the others (to throw these bounds away) adds one
job twice. Twice this limit and 1 more, for upper bounds that no schedule has, is less
than the largest 32-bit integer, which stands for "no child".
"""


Orientation = Literal["jobs_rows", "machines_rows"]
"""What the rows of a table of processing times are."""


def check_orientation(value: Orientation | None) -> None:
    """Check what was said, if anything was; InstanceError: something else."""
    known = get_args(Orientation)
    if value is not None and value not in known:
        refuse("orientation", " or ".join(map(repr, known)), shown(value))


def as_times(data: Any, name: str = "times") -> NDArray[np.int64]:
    """Return processing times as a read-only int64 array in C order.

    Parameters
    ----------
    data
        Two-dimensional array, nested sequence, DataFrame (anything with
        ``to_numpy``) or array-like (``__array__``) of whole numbers >= 0.

    Returns
    -------
    ndarray of int64
        Same rows and columns as ``data``.

    Raises
    ------
    InstanceError
        Not a table, empty, ragged, or a value that is no whole number >= 0, or the
        sum of all is above ``MAX_TOTAL_TIME``.
    """
    table = _as_table(data, name)
    if table.dtype.kind not in "Oiuf":
        refuse(name, "a table of whole numbers >= 0", f"values of type {table.dtype}")
    if table.dtype.kind in "Of" or table.min() < 0:
        given, table = table, np.empty(table.shape, dtype=object)
        for (row, column), value in np.ndenumerate(given):
            where = f"{name}, row {row}, column {column}"
            table[row, column] = whole_number(value, where)
    largest = min(int(table.max()), 2**63)  # Python refuses to print huge integers
    # Two steps: only times within the limit are sure not to overflow their sum.
    total = int(table.sum(dtype=np.int64)) if largest <= MAX_TOTAL_TIME else largest
    if total > MAX_TOTAL_TIME:
        refuse(
            name,
            f"processing times that sum to at most {MAX_TOTAL_TIME:,} (2**30 - 2)",
            f"a sum of {total:,} or more; use a coarser time unit",
        )
    times = np.array(table, dtype=np.int64, order="C")
    times.setflags(write=False)
    return times


def whole_number(value: Any, where: str) -> int:
    """Return a whole number >= 0, given as an integer or an equal float."""
    whole = isinstance(value, int | np.integer) and not isinstance(
        value, bool | np.timedelta64
    )
    if isinstance(value, float | np.floating):
        whole = math.isfinite(value) and value == int(value)
    if not whole or value < 0:
        plain = value.item() if isinstance(value, np.generic) else value
        refuse(where, "a whole number >= 0", shown(plain))
    return int(value)


def whole_numbers(
    given: Any,
    where: str,
    expected: str,
    *shapes: tuple[int, ...],
    place: Callable[..., str] = lambda *at: "".join(map("[{}]".format, at)),
) -> NDArray[np.int64]:
    """Return a new array of whole numbers from 0 to ``MAX_TOTAL_TIME``.

    ``shapes``: those that it may have; without them any list. ``place``: where in it a
    number is. InstanceError: it is none, or not as ``expected``.
    """
    try:  # among numbers of several types NumPy would take True for 1
        table = np.asarray(given, None if hasattr(given, "dtype") else object)
    except ValueError:  # rows of several lengths
        table = np.empty((0, 0))
    if not table.ndim and isinstance(given, Iterable) and not isinstance(given, str):
        table = np.array([*given], object)
    if table.shape not in (shapes or [(table.size,)]):
        got = f"the shape {table.shape}"
        if not table.ndim:
            got = shown(given)
        elif table.shape == (0, 0) or isinstance(table.flat[0], Sequence):
            got = "rows of several lengths"
        elif table.ndim == 1:
            got = f"{table.size}"
        refuse(where, expected, got)
    whole = table.dtype.kind in "iu" or all(type(one) is int for one in table.flat)
    if not whole or table.min(initial=0) < 0:
        table = table.astype(object)
        for at, value in np.ndenumerate(table):
            table[at] = whole_number(value, where + place(*at))
    if (most := table.max(initial=0)) > MAX_TOTAL_TIME:
        refuse(where, f"numbers up to {MAX_TOTAL_TIME:,}", shown(int(most)))
    return table.astype(np.int64)


def _as_table(data: Any, name: str) -> NDArray[Any]:
    """Two-dimensional array of at least one row and column; object if unsure."""
    if hasattr(data, "to_numpy"):  # DataFrames, without importing their libraries
        data = data.to_numpy()
    expected = "a two-dimensional table of processing times"
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        refuse(name, expected, "a masked array with missing values")
    if isinstance(data, (str, bytes, numbers.Number)) or data is None:
        refuse(name, expected, shown(data))
    if isinstance(data, Sequence):
        table = _from_rows(data, name)
    elif isinstance(data, np.ndarray) or hasattr(data, "__array__"):
        table = np.asarray(data)
    else:
        refuse(name, expected, f"an object of type {type(data).__name__}{_where(data)}")
    if table.ndim != 2:
        hint = (
            "; one machine is [[3], [4]], one job [[3, 4]]" if table.ndim == 1 else ""
        )
        refuse(name, expected, f"{table.ndim} dimension(s){hint}")
    if 0 in table.shape:
        rows, columns = table.shape
        refuse(
            name,
            "at least one job and one machine",
            f"an empty table of {rows} rows and {columns} columns",
        )
    return table


def _where(data: Any) -> str:
    """Return where a job shop belongs; nothing of other objects."""
    if type(data).__name__ != "JobShopInstance":
        return ""
    return (
        ": dpbb.jobshop.evaluate and dpbb.jobshop.schedule take job shops; "
        "examples/09_job_shop_tree.py makes a Problem of one, which dpbb.solve takes"
    )


def _from_rows(rows: Sequence[Any], name: str) -> NDArray[Any]:
    """Nested sequence as an object array; NumPy alone would guess at mixed types."""
    if not len(rows):
        refuse(name, "at least one job and one machine", "an empty table")
    for index, row in enumerate(rows):
        # An array without dimensions has no length.
        is_row = isinstance(row, Sequence) or (isinstance(row, np.ndarray) and row.ndim)
        if isinstance(row, (str, bytes)) or not is_row:
            refuse(f"{name}, row {index}", "a row of processing times", shown(row))
        if len(row) != len(rows[0]):
            refuse(
                f"{name}, row {index}",
                f"{len(rows[0])} processing times as in row 0",
                f"{len(row)}",
            )
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for place in np.ndindex(table.shape):
        table[place] = rows[place[0]][place[1]]
    return table
