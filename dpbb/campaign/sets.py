"""Sets of benchmark instances by name, and schedules of them that are known."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpbb.errors import OptionError, shown
from dpbb.flowshop.best_known import benchmark_name, best_known, best_known_names
from dpbb.flowshop.formats import TEXT_SUFFIXES, sources_in
from dpbb.flowshop.table_form import AS_IT_IS, TableForm
from dpbb.flowshop.taillard import time_seeds
from dpbb.options.permutations import check_permutation
from dpbb.text.files import expecting, file_and_index, read_file

ALLOWED = (
    "names (ta021, VFR30_15_2), files (instances, or names, one a line), or sets: "
    "ta, vrf, ta:20x20, vrf:30x20, vrf:small, vrf:large, ta:open, vrf:open, open, "
    "ta:all, vrf:all"
)

SMALL_JOBS = 60
"""Most jobs of the benchmark's small instances."""

BEGINNING = {"ta": "ta", "vrf": "VFR"}
"""How the names of a benchmark begin."""


def size_of(name: str) -> tuple[int, int]:
    """Jobs and machines of an instance of a benchmark."""
    if name.startswith("ta"):
        return tuple(time_seeds())[(int(name[2:]) - 1) // 10]
    n_jobs, n_machines, _ = name.removeprefix("VFR").split("_")
    return int(n_jobs), int(n_machines)


def members(words: Sequence[str], table: TableForm = AS_IT_IS) -> tuple[str, ...]:
    """Return names and files of what sets, names and files say; each once.

    A file is of instances, or a list of names and sets: one a line, with comments that
    begin with ``#``. ``table``: how tables are read.

    Raises
    ------
    OptionError
        A word that is none of them, also in a list, or nothing at all.
    InstanceError
        A file that cannot be read; of several instances all are taken, of ``FILE[3]``
        this one.
    """
    found: dict[str, None] = {}
    for word in words:
        found.update(dict.fromkeys(_members_of(word, table)))
    if not found:
        raise OptionError(f"SET: expected {ALLOWED}, got nothing")
    return tuple(found)


def _members_of(word: str, table: TableForm) -> list[str]:
    found = _named_by(word)
    if not found and Path(file_and_index(word)[0]).is_file():
        found = _listed_in(word) or sources_in(word, table)
    if not found:
        folder = f"a folder; its files are {word.rstrip('/')}/*"
        got = f"{word!r}, {folder}" if Path(word).is_dir() else repr(word)
        raise OptionError(f"SET: expected {ALLOWED}, got {got}")
    return found


def _listed_in(file: str) -> list[str]:
    """Return what the names and sets in a list mean; nothing if it is no list.

    A list has no line that begins with a number, as texts of instances have.
    """
    if Path(file).suffix.lower() not in TEXT_SUFFIXES:
        return []
    try:
        text = read_file(Path(file)).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return []  # or of instances: their reader says what is wrong
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    if any(re.match(r"[-+.]?\d", line) for line in lines):
        return []
    found = []
    for number, word in enumerate(lines, 1):
        if word and not (named := _named_by(word)):
            raise OptionError(
                f"{file}, line {number}: expected a name or a set, got {shown(word)}"
            )
        found += named if word else []
    return found


def _named_by(word: str) -> list[str]:
    """Return the members of a benchmark that a name or set means; () for others."""
    benchmark, _, part = word.lower().partition(":")
    if word.lower() == "open":
        return [one for name in BEGINNING for one in _named_by(f"{name}:open")]
    name = benchmark_name(word)
    if name is not None and best_known(name) is not None:
        return [name]
    if benchmark not in BEGINNING:
        return []
    names = sorted(
        best_known_names(BEGINNING[benchmark]),
        key=lambda one: (size_of(one), int(re.findall(r"\d+", one)[-1])),
    )
    return [one for one in names if _is_in(one, part)]


def _is_in(name: str, part: str) -> bool:
    """Whether an instance belongs to a part of its benchmark."""
    n_jobs, n_machines = size_of(name)
    if part in ("small", "large"):
        return not name.startswith("ta") and (part == "small") == (n_jobs <= SMALL_JOBS)
    if part == "open":
        known = best_known(name)
        return known is not None and not known.optimal
    return part in ("", "all", f"{n_jobs}x{n_machines}")


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

    ``path``: a CSV table, of commas or semicolons, or the JSON of ``table``. The source
    of a line is its column ``ub_source``, where there is one, and the table's name.

    OptionError: it cannot be read, or a line has no permutation; says which.
    """
    if Path(path).suffix == ".json":
        return _schedules_of_table(Path(path))
    with expecting(f"--schedules: expected {EXPECTED} in {path}"):
        text = read_file(Path(path)).decode("utf-8")
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


def _schedules_of_table(path: Path) -> dict[str, KnownSchedule]:
    from dpbb.campaign.table import read_table

    found = {}
    for row in read_table(path):
        best = next((figure for figure in row.ub_data if figure.schedule), None)
        if best is not None:
            jobs = [job - 1 for job in best.schedule]
            order = check_permutation(jobs, f"{path}, {row.instance}")
            source = best.source or best.solver
            found[row.instance] = KnownSchedule(order, f"{source}, {path.name}")
    return found
