"""Conversion of any table of processing times to one checked, read-only array.

The one gate for values: files, the API and unpickled instances all pass here, so that
the engines need no checks of their own.
"""

import math
import numbers
from collections import Counter
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import refuse, shown
from dpbb.flowshop.headings import Placed, check_headings, is_label
from dpbb.text.labels import Names, unless_counted

MAX_TOTAL_TIME = 2**30 - 2
"""Largest allowed sum of all processing times of an instance.

Every makespan, front, back and bound is a sum of distinct operations, and a kernel
that bounds scheduled jobs along with the others (to throw these bounds away) adds one
job twice. Twice this limit and 1 more, for upper bounds that no schedule has, is less
than the largest 32-bit integer, which stands for "no child".
"""


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
    if table.dtype.kind == "O":
        table = _whole_numbers(table, name)
    elif table.dtype.kind == "f":
        bad = ~np.isfinite(table) | (table != np.floor(table))
        _refuse_first(table, bad, name)
    elif table.dtype.kind not in "iu":
        refuse(name, "a table of whole numbers >= 0", f"values of type {table.dtype}")
    _refuse_first(table, table < 0, name)
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


def table_in(data: Any, orientation: str | None = None) -> tuple[Any, Names]:
    """Return the times of a data frame, and what its rows and columns are called.

    A column with a heading such as ``job`` names the rows (``is_label``); without one
    the index does, where there is one. What is no data frame comes back as it is,
    without names.

    ``orientation``: what the rows are; None: jobs, unless a heading says machines.
    """
    if not (hasattr(data, "to_numpy") and hasattr(data, "columns")):
        return data, Names()
    columns, table = list(data.columns), data.to_numpy()
    label = next((at for at, one in enumerate(columns) if is_label(one)), None)
    if label is None:
        rows, of_rows = getattr(data, "index", range(len(table))), "index"
        corner = getattr(rows, "name", None) or ""
    else:
        rows, of_rows = table[:, label], f"column {columns[label]!r}"
        table = np.delete(table, label, axis=1)
        corner = columns.pop(label)
    found = []
    for what, names in ((of_rows, rows), ("columns", columns)):
        if any(one is None or (isinstance(one, float) and one != one) for one in names):
            refuse(f"data frame, {what}", "a name for each", "a missing value")
        again = [name for name, times in Counter(names).items() if times > 1]
        if again:
            hint = "; reset_index(drop=True) counts anew" if what == "index" else ""
            got = f"{shown(again[0])} more than once{hint}"
            refuse(f"data frame, {what}", "different names", got)
        found.append(unless_counted(names))
    check_headings(
        Placed(f"data frame, {of_rows}", str(corner)),
        [Placed(f"data frame, {of_rows}", name) for name in found[0]],
        [Placed("data frame, columns", name) for name in found[1]],
        orientation,
    )
    return table, Names(*found)


def _where(data: Any) -> str:
    """Return where a job shop belongs; nothing of other objects."""
    from dpbb.jobshop.instance import JobShopInstance

    if not isinstance(data, JobShopInstance):
        return ""
    return (
        ": dpbb.jobshop.evaluate and dpbb.jobshop.schedule take job shops; "
        "examples/09_job_shop_tree.py makes a Problem of one, which dpbb.solve takes"
    )


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


def _from_rows(rows: Sequence[Any], name: str) -> NDArray[Any]:
    """Nested sequence as an object array; NumPy alone would guess at mixed types."""
    if not len(rows):
        refuse(name, "at least one job and one machine", "an empty table")
    lengths = []
    for index, row in enumerate(rows):
        # An array without dimensions has no length.
        is_row = isinstance(row, Sequence) or (isinstance(row, np.ndarray) and row.ndim)
        if isinstance(row, (str, bytes)) or not is_row:
            refuse(f"{name}, row {index}", "a row of processing times", shown(row))
        lengths.append(len(row))
        if lengths[index] != lengths[0]:
            refuse(
                f"{name}, row {index}",
                f"{lengths[0]} processing times as in row 0",
                f"{lengths[index]}",
            )
    table = np.empty((len(rows), lengths[0]), dtype=object)
    for index, row in enumerate(rows):
        for column, value in enumerate(row):
            table[index, column] = value
    return table


def _whole_numbers(table: NDArray[Any], name: str) -> NDArray[Any]:
    """Object array of exact Python integers from one of any values."""
    result = np.empty(table.shape, dtype=object)
    for (row, column), value in np.ndenumerate(table):
        whole = isinstance(value, int | np.integer) and not isinstance(
            value, bool | np.timedelta64
        )
        if isinstance(value, float | np.floating):
            whole = math.isfinite(value) and value == int(value)
        if not whole:
            _refuse_value(value, row, column, name)
        result[row, column] = int(value)
    return result


def _refuse_first(table: NDArray[Any], bad: NDArray[np.bool_], name: str) -> None:
    if bad.any():
        row, column = np.argwhere(bad)[0]
        _refuse_value(table[row, column], int(row), int(column), name)


def _refuse_value(value: Any, row: int, column: int, name: str) -> NoReturn:
    plain = value.item() if isinstance(value, np.generic) else value
    where = f"{name}, row {row}, column {column}"
    refuse(where, "a whole number >= 0", shown(plain))
