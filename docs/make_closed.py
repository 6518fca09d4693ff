"""Write the tables of ``docs/closed.md`` from the records and estimates in ``results``.

Run it in the root of the repository when something is new there:
``python docs/make_closed.py``. ``tests/unit/test_closed.py`` compares.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from statistics import median

from dpbb.campaign.checking import doubt_of
from dpbb.campaign.folder import CampaignFolder, Record
from dpbb.campaign.report import LEFT_COLUMNS, as_news, as_table, left
from dpbb.campaign.sets import size_of
from dpbb.proof import checker
from dpbb.result import Status

RESULTS = Path(__file__).parents[1] / "results"
BOUNDS = RESULTS / "bounds"
MOST_HOURS = 1000.0
"""What seems to take longer is in ``open-all.md`` alone."""

MINUTES = 30.0
"""That a solver has for each of Taillard's instances."""

TAILLARD = ("ta-2-cores.csv", "ta-h200.csv")
"""Taillard's instances on two cores, and on a GPU."""

CLASS_COLUMNS = (
    *("class", "instances", "proved on two cores", "median s", "longest s"),
    *("run on an H200", "proved", "median s", "longest s"),
)

CLOSED_COLUMNS = (
    *("instance", "makespan", "H200s", "nodes", "s", "GPU-hours", "`dpbb verify`"),
    *("`checker.py`", "`dpbb verify --all`"),
)
BOUND_COLUMNS = (
    *("instance", "lower bound", "before", "best known", "nodes", "s"),
    "`dpbb verify`",
)
LARGE_COLUMNS = (
    *("class", "instances", "proved", "nodes, median", "nodes, most", "s, median"),
    "s, most",
)
TWENTY_JOBS_COLUMNS = (
    *("instance", "makespan without buffers", "nodes", "s"),
    *("total completion time", "nodes", "s"),
)
NOT_PROVED_COLUMNS = ("instances", "not counted", "names, with estimates")

SAID = re.compile(rf"^(?:verdict +)?({'|'.join(checker.EXIT)}):", re.MULTILINE)
"""A verdict as ``dpbb verify`` and the program of one file print it."""


def records(folder: Path) -> list[Record]:
    """Return the records of a campaign in the order of its report."""
    found = CampaignFolder(folder).records().values()
    for one in found:
        doubt = doubt_of(one, folder)
        if doubt:
            raise SystemExit(f"{one.instance} in {folder}: {doubt}")
    return _sorted(found)


def _sorted(found: Iterable[Record]) -> list[Record]:
    return sorted(found, key=lambda one: (one.n_jobs, one.n_machines, one.instance))


def closed() -> str:
    """Table of what was closed, with what both programs say of it."""
    rows = []
    for one in records(RESULTS):
        if one.proved:
            nodes = one.totals.nodes
            run = (
                one.makespan,
                len(one.seats),
                nodes,
                one.totals.seconds,
                one.totals.gpu_seconds / 3600,
            )
            rows.append((one.instance, *run, *verdicts(one.instance)))
    return as_table(CLOSED_COLUMNS, rows)


def verdicts(name: str) -> tuple[str | None, str | None, str | None]:
    """Return what audits of the finer certificate say, and exploring all again."""
    whole = RESULTS / "checks" / f"{name}.txt"
    file = whole.with_name(f"{name}-audited.txt")
    audits = file.read_text(encoding="utf-8") if file.exists() else ""
    said: dict[str, str] = {}
    for call in audits.split("$ ")[1:]:
        program, found = call.partition(" finer/")[0], SAID.search(call)
        if found:
            said[program] = found[1]
    every = SAID.search(whole.read_text(encoding="utf-8")) if whole.exists() else None
    return (
        *(said.get("dpbb verify"), said.get("python checker.py")),
        every[1] if every else None,
    )


def bounds() -> str:
    """Table of lower bounds of what is open."""
    text = (RESULTS / "checks/bounds.txt").read_text(encoding="utf-8")
    said = dict(line.split(",")[0].split(": ") for line in text.splitlines()[1:])
    rows = [
        (
            *(one.instance, one.lower_bound, one.best_lower, one.best_upper),
            *(one.totals.nodes, one.totals.seconds),
            said[one.instance],
        )
        for one in records(BOUNDS)
    ]
    return as_table(BOUND_COLUMNS, rows)


def large() -> str:
    """Table by class of large VRF instances that the tables call closed."""
    rows = rows_of("large/runs.csv")
    cells = []
    for size in sorted({row["size"] for row in rows}, key=_by_size):
        group = [row for row in rows if row["size"] == size]
        proved = [row for row in group if row["status"] == Status.OPTIMAL]
        nodes = [int(row["nodes"]) for row in proved]
        seconds = [float(row["seconds"]) for row in proved]
        most = (median(nodes), max(nodes), median(seconds), max(seconds))
        cells.append((size, len(group), len(proved), *most))
    return as_table(LARGE_COLUMNS, cells)


def twenty_jobs() -> str:
    """Table of other problems of shops with 20 jobs."""
    both = (records(RESULTS / kind) for kind in ("blocking", "total-completion"))
    rows = [
        (blocking.instance, *_proof(blocking), *_proof(completion))
        for blocking, completion in zip(*both, strict=True)
    ]
    return as_table(TWENTY_JOBS_COLUMNS, rows)


def _proof(one: Record) -> tuple[int | None, int, float]:
    return one.makespan, one.totals.nodes, one.totals.seconds


def news() -> str:
    """Return what to send to keepers of tables: lower bounds with a certificate."""
    runs = records(RESULTS)
    shown = {one.instance: one for one in runs if one.proved}
    known = {one.instance: replace(one, lower_bound=None) for one in runs}
    for one in records(BOUNDS):
        shown[one.instance] = replace(
            known.get(one.instance, one),
            lower_bound=one.lower_bound,
            certificate=f"{BOUNDS.name}/{one.certificate}",
        )
    less = [
        f"- {one.instance}: lower bound {one.lower_bound}, not certified\n"
        for one in runs
        if one.instance not in shown and "lower" in one.news
    ]
    return as_news(_sorted((known | shown).values())) + "".join(less)


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


def not_proved() -> str:
    """Table of what two cores did not prove: what its recorded estimate says.

    The rate is that of the run's own nodes in all of its seconds.
    """
    rows = rows_of(TAILLARD[0])
    explored = {one.instance: one.totals.nodes for one in records(RESULTS)}
    reasons: dict[str, list[tuple[float, str]]] = {}
    for row in rows:
        if row["status"] == Status.OPTIMAL:
            continue
        name, nodes = row["instance"], float(row["estimated"])
        hours = nodes * float(row["seconds"]) / int(row["nodes"]) / 3600
        size = f"{name} ({nodes:,.0f} nodes)"
        if 60 * hours > MINUTES:
            why, size = (
                f"more than {MINUTES:g} minutes",
                f"{name} ({round(hours, 1 if hours < 10 else None):,} h)",
            )
        elif explored.get(name, 0) > nodes:
            why = f"estimate too small: {explored[name]:.2g} nodes explored, still open"
        else:
            why = "best makespan not found, the tree below it takes less"
        reasons.setdefault(why, []).append((hours, size))
    cells = [
        (len(group), why, ", ".join(size for _, size in sorted(group)))
        for why, group in reasons.items()
    ]
    proved = len(rows) - sum(count for count, *_ in cells)
    table = as_table(NOT_PROVED_COLUMNS, cells)
    return f"{table}\nProved, of {len(rows)}: **{proved}**.\n"


def estimates() -> list[Record]:
    """Return the estimates of all that was open, with what was explored since.

    Lower bounds are those of tables and certificates.
    """
    certified = {one.instance: one.lower_bound or 0 for one in records(BOUNDS)}
    runs = {one.instance: one for one in records(RESULTS)}
    found = []
    for row in rows_of("open.csv"):
        name = row["instance"]
        n_jobs, n_machines = size_of(name)
        run = runs.get(name)
        one = Record(
            source=name,
            instance=name,
            digest="",
            n_jobs=n_jobs,
            n_machines=n_machines,
            best_lower=max(certified.get(name, 0), int(row["best_lower"])),
            best_upper=int(row["best_upper"]),
            estimated=float(row["estimated"]),
            low=float(row["low"]),
            high=float(row["high"]),
        )
        if run:
            one = replace(
                one,
                status=run.status,
                totals=run.totals,
                makespan=run.makespan,
                lower_bound=run.lower_bound if run.proved else None,
            )
        found.append(one)
    return found


def open_ones(most_hours: float) -> str:
    """Table of what is open and takes at most so many GPU-hours, cheapest first."""
    every = left(estimates())
    within = Counter(row[-1] for row in every)
    rows = [row for row in every if isinstance(row[8], str) or row[8] <= most_hours]
    said = ", ".join(f"{within[word]} {word}" for word in ("yes", "perhaps", "no"))
    return f"Within 100 GPU-hours, of {len(every)}: {said}.\n\n" + as_table(
        LEFT_COLUMNS, rows
    )


def intervals() -> str:
    """Say how many trees that were explored have as many nodes as the interval says."""
    ended, more = [], []
    for one in estimates():
        nodes = one.totals.nodes
        if one.proved:
            ended.append((one.low or 0) <= nodes <= (one.high or 0))
        elif nodes > (one.high or 0):
            more.append(f"{one.instance} ({nodes:.2g} nodes, not {one.high:.2g})")
    return (
        f"The interval has the truth for {sum(ended)} of {len(ended)} closed trees. Of "
        f"open ones more was explored than its upper end: {', '.join(more)}.\n"
    )


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
    "news.md": news,
    "bounds/table.md": bounds,
    "large/table.md": large,
    "twenty-jobs.md": twenty_jobs,
    "open.md": partial(open_ones, MOST_HOURS),
    "open-all.md": partial(open_ones, inf),
    "ta.md": taillard,
    "ta-left.md": not_proved,
    "intervals.md": intervals,
}

if __name__ == "__main__":
    for name, make in TABLES.items():
        (RESULTS / name).write_text(make(), encoding="utf-8")
