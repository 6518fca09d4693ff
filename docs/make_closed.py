"""Write the tables of ``docs/closed.md`` from the records and estimates in ``results``.

Run it in the root of the repository when something is new there:
``python docs/make_closed.py``. ``tests/unit/test_closed.py`` compares.
"""

from __future__ import annotations

import csv
from pathlib import Path

from dpbb.campaign.folder import CampaignFolder, Record
from dpbb.campaign.report import LEFT_COLUMNS, as_markdown, as_table, left
from dpbb.campaign.sets import size_of

RESULTS = Path(__file__).parents[1] / "results"
BOUNDS = RESULTS / "bounds"
MOST_HOURS = 1000.0
"""What seems to take longer is in ``open.csv`` alone."""

BOUND_COLUMNS = ("instance", "lower bound", "published", "best known", "nodes", "s")


def records(folder: Path) -> list[Record]:
    """Return the records of a campaign in the order of its report."""
    found = CampaignFolder(folder).records().values()
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


def estimates() -> list[Record]:
    """Return the estimates of what is open, without what was closed since."""
    done = {one.instance for one in records(RESULTS) if one.proved}
    found = []
    with (RESULTS / "open.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["instance"] in done:
                continue
            n_jobs, n_machines = size_of(row["instance"])
            one = Record(
                source=row["instance"],
                instance=row["instance"],
                digest="",
                n_jobs=n_jobs,
                n_machines=n_machines,
                best_lower=int(row["best_lower"]),
                best_upper=int(row["best_upper"]),
                estimated=float(row["estimated"]),
                low=float(row["low"]),
                high=float(row["high"]),
            )
            found.append(one)
    return found


def open_ones() -> str:
    """Table of what is open and within reach, cheapest first."""
    rows = [row for row in left(estimates()) if row[8] <= MOST_HOURS]
    return as_table(LEFT_COLUMNS, rows)


TABLES = {"table.md": closed, "bounds/table.md": bounds, "open.md": open_ones}

if __name__ == "__main__":
    for name, make in TABLES.items():
        (RESULTS / name).write_text(make(), encoding="utf-8")
