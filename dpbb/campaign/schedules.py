"""Schedules that are known already: a table with a line for each instance."""

import csv
from dataclasses import dataclass
from pathlib import Path

from dpbb.errors import OptionError
from dpbb.flowshop.best_known import benchmark_name
from dpbb.options.permutations import check_permutation

FROM = {"permutation": 0, "permutation_1based": 1}
"""Columns that may hold the permutation, jobs separated by blanks, and the first job's
number in each."""

EXPECTED = f"a CSV table with the columns name and {' or '.join(FROM)}"


@dataclass(frozen=True, slots=True)
class KnownSchedule:
    """A schedule, jobs from 0, and where it is from."""

    permutation: tuple[int, ...]
    source: str


def named(name: str) -> str:
    """Return the name of an instance as its benchmark writes it: ``ta1`` is ta001."""
    return benchmark_name(name) or name


def read_schedules(path: str | Path) -> dict[str, KnownSchedule]:
    """Return the schedules of a table by the names of their instances; see ``named``.

    Parameters
    ----------
    path
        A CSV table, of commas or semicolons. The source of a line is its column
        ``ub_source``, where there is one, and the table's name.

    Raises
    ------
    OptionError
        It cannot be read, or a line has no permutation; says which.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"--schedules: expected {EXPECTED}, got {error}") from error
    comma = ";" if ";" in text.partition("\n")[0] else ","
    table = csv.DictReader(text.splitlines(), delimiter=comma)
    column = next((name for name in FROM if name in (table.fieldnames or ())), None)
    if column is None or "name" not in (table.fieldnames or ()):
        raise OptionError(
            f"--schedules: expected {EXPECTED}, got {path} with {table.fieldnames}"
        )
    found = {}
    for row in table:
        where = f"{path}, line {table.line_num}"
        try:
            jobs = [int(job) - FROM[column] for job in row[column].split()]
        except (AttributeError, ValueError) as error:
            raise OptionError(
                f"{where}: expected the numbers of jobs, got {row[column]!r}"
            ) from error
        source = ", ".join(filter(None, (row.get("ub_source"), Path(path).name)))
        order = check_permutation(jobs, where)
        found[named(row["name"] or "")] = KnownSchedule(order, source)
    return found
