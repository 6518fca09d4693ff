"""Write the tables of ``docs/closed.md`` from the records and estimates in ``results``.

Run it in the root of the repository when something is new there:
``python docs/make_closed.py``. ``tests/unit/test_closed.py`` compares.
"""

from __future__ import annotations

import csv
from functools import partial
from math import inf
from pathlib import Path
from statistics import median

from dpbb.campaign.checking import doubt_of
from dpbb.campaign.folder import CampaignFolder, Record
from dpbb.campaign.report import LEFT_COLUMNS, as_markdown, as_table, left
from dpbb.campaign.sets import size_of
from dpbb.result import Status

RESULTS = Path(__file__).parents[1] / "results"
BOUNDS = RESULTS / "bounds"
MOST_HOURS = 1000.0
"""What seems to take longer is in ``open-all.md`` alone."""

TAILLARD = ("ta-2-cores.csv", "ta-h200.csv")
"""Taillard's instances on two cores, and on a GPU."""

CLASS_COLUMNS = (
    *("class", "instances", "proved on two cores", "median s", "longest s"),
    *("run on an H200", "proved", "median s", "longest s"),
)
HOW_COLUMNS = ("proof", "schedule by", "status", "instances", "median s")

BOUND_COLUMNS = ("instance", "lower bound", "before", "best known", "nodes", "s")


def records(folder: Path) -> list[Record]:
    """Return the records of a campaign in the order of its report."""
    found = CampaignFolder(folder).records().values()
    for one in found:
        doubt = doubt_of(one, folder)
        if doubt:
            raise SystemExit(f"{one.instance} in {folder}: {doubt}")
    return sorted(found, key=lambda one: (one.n_jobs, one.n_machines, one.instance))


def closed() -> str:
    """Table of what was closed, or is under way: ``dpbb campaign report results``."""
    return as_markdown(records(RESULTS))


def bounds() -> str:
    """Table of lower bounds of what is open."""
    rows = [
        (
            *(one.instance, one.lower_bound, one.best_lower, one.best_upper),
            *(one.decomposed + one.leaves, one.seconds),
        )
        for one in records(BOUNDS)
    ]
    return as_table(BOUND_COLUMNS, rows)


def rows_of(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV report."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def taillard() -> str:
    """Table of Taillard's instances by class."""
    tables = [rows_of(name) for name in TAILLARD]
    sizes = sorted({row["size"] for row in tables[0]}, key=_by_size)
    rows = []
    for size in (*sizes, "all"):
        cells: list[object] = []
        for table in tables:
            group = [row for row in table if size in (row["size"], "all")]
            tried = [row for row in group if int(row["attempts"])]
            proved = [row for row in tried if row["status"] == Status.OPTIMAL]
            longest = max((float(row["seconds"]) for row in proved), default=None)
            cells += [len(tried), len(proved), _median(proved), longest]
        rows.append((size, *cells))
    return as_table(CLASS_COLUMNS, rows)


def _by_size(size: str) -> tuple[int, ...]:
    return tuple(map(int, size.split("x")))


def _median(rows: list[dict[str, str]]) -> float | None:
    return median(float(row["seconds"]) for row in rows) if rows else None


def ways(name: str) -> str:
    """Table of what proved Taillard's instances, and what found their schedules."""
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows_of(name):
        found = row["found_by"].partition(",")[0]
        groups.setdefault((row["proof"], found, row["status"]), []).append(row)
    most = sorted(groups.items(), key=lambda item: -len(item[1]))
    return as_table(HOW_COLUMNS, [(*way, len(g), _median(g)) for way, g in most])


def estimates() -> list[Record]:
    """Return the estimates of what is open, without what was closed since."""
    done = {one.instance for one in records(RESULTS) if one.proved}
    known: dict[str, int] = {}
    for one in records(BOUNDS) + records(RESULTS):
        known[one.instance] = max(known.get(one.instance, 0), one.lower_bound or 0)
    explored = {one.instance: one for one in records(RESULTS)}
    found = []
    for row in rows_of("open.csv"):
        name = row["instance"]
        n_jobs, n_machines = size_of(name)
        one = Record(
            source=name,
            instance=name,
            digest="",
            n_jobs=n_jobs,
            n_machines=n_machines,
            best_lower=max(known.get(name, 0), int(row["best_lower"])),
            best_upper=int(row["best_upper"]),
            estimated=float(row["estimated"]),
            low=float(row["low"]),
            high=float(row["high"]),
            decomposed=explored[name].decomposed if name in explored else 0,
            makespan=explored[name].makespan if name in explored else None,
        )
        if name not in done:
            found.append(one)
    return found


def open_ones(most_hours: float) -> str:
    """Table of what is open and takes at most so many GPU-hours, cheapest first."""
    rows = [row for row in left(estimates()) if row[8] <= most_hours]
    return as_table(LEFT_COLUMNS, rows)


def schedules() -> str:
    """Schedules of what was closed, or better than known, for ``--schedules``."""
    rows = (
        f'{one.instance},{one.makespan},"{one.found_by}",'
        + " ".join(map(str, one.permutation or ()))
        for one in records(RESULTS)
    )
    return "\n".join(("name,makespan,ub_source,permutation", *rows, ""))


TABLES = {
    "schedules.csv": schedules,
    "table.md": closed,
    "bounds/table.md": bounds,
    "open.md": partial(open_ones, MOST_HOURS),
    "open-all.md": partial(open_ones, inf),
    "ta.md": taillard,
    "ta-ways.md": partial(ways, TAILLARD[0]),
    "ta-ways-h200.md": partial(ways, TAILLARD[1]),
}

if __name__ == "__main__":
    for name, make in TABLES.items():
        (RESULTS / name).write_text(make(), encoding="utf-8")
