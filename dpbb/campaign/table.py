"""The table of a field: who proved which bounds of each instance, and what shows it.

Its form is that of ``jobshop/solutions/bks.json`` of github.com/ScheduleOpt/benchmarks,
a list of instances. What that has no field for is left out where there is nothing to
say: schedules, sources, files of certificates, verdicts, nodes and joules.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from dpbb.campaign.folder import DOUBTFUL, Record, doubt_of, features_of
from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop.best_known import benchmark_name, best_known_of_digest
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.features import FEATURES
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.problem import Problem, objective_of
from dpbb.problems import decoded
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.result import Proof, Status
from dpbb.text.files import expecting, read_file

SUFFIX = ".json"
TYPE = "permutation flowshop"
OURS = "dpbb"
PUBLISHED = "J. Gmys, doi:10.5281/zenodo.4542886, version 9; dogs-pfsp"
"""Of the bounds in ``flowshop/data/best_known.csv``."""

FAMILIES = {"ta": "Taillard 1993", "VFR": "Vallada, Ruiz and Framinan 2015"}


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A bound, who found it, and what shows that it holds.

    Parameters
    ----------
    value, date, solver, hardware, time
        The bound, when (``2026-11-27``), by whom, on what, in how many seconds.
    certificate
        ``"yes"``: a schedule or a certificate is there.
    source
        Where a figure of others is from.
    schedule
        Of an upper bound: jobs from 1.
    file, verdict
        Certificate of a lower bound, from the table's folder; what ``dpbb verify``
        said.
    nodes, energy_j
        What the run took.
    """

    value: int
    date: str | None
    solver: str
    hardware: str | None
    time: float | None
    certificate: str
    source: str = ""
    schedule: tuple[int, ...] = ()
    file: str = ""
    verdict: str = ""
    nodes: int | None = None
    energy_j: float | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An instance: its best bounds, and figures of both sides, best first.

    Parameters
    ----------
    refuted
        Lower bounds of others above the value of a schedule that is there.
    estimate
        Nodes of the tree below the best schedule, by sampling; the least and the most.
    """

    instance: str
    size: Annotated[str, msgspec.Meta(pattern=r"^\d+ x \d+$")]
    type: str
    family: str
    family_long: str
    status: str
    lower_bound: int | None
    upper_bound: int | None
    lb_data: tuple[Figure, ...]
    ub_data: tuple[Figure, ...]
    objective: str = "makespan"
    features: str = ""
    refuted: tuple[Figure, ...] = ()
    estimate: tuple[float, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Jobs and machines."""
        n_jobs, n_machines = map(int, self.size.split(" x "))
        return n_jobs, n_machines


def row(
    instance: str,
    n_jobs: int,
    n_machines: int,
    lower: Sequence[Figure] = (),
    upper: Sequence[Figure] = (),
    **more: Any,
) -> Row:
    """Return an instance's row, with the best bounds that its figures show.

    ``more``: other fields. Of figures of others one stays of each value, the first, or
    the first with a schedule; of ours the best of each side.
    """
    above = _best_first(upper, sign=1)
    shown = min((f.value for f in above if f.schedule), default=2**63)
    below = _best_first([f for f in lower if f.value <= shown], sign=-1)
    refuted = {f.value: f for f in lower if f.value > shown}
    least = below[0].value if below else None
    most = above[0].value if above else None
    closed = least is not None and least == most
    if closed and below[0].file:
        more.pop("estimate", None)
    if more.get("objective") == "makespan":  # left out, as other defaults
        del more["objective"]
    family = next((name for name in FAMILIES if instance.startswith(name)), "")
    return Row(
        instance=instance,
        size=f"{n_jobs} x {n_machines}",
        type=TYPE,
        family={"VFR": "vrf"}.get(family, family),
        family_long=FAMILIES.get(family, ""),
        status="closed" if closed else "open",
        lower_bound=least,
        upper_bound=most,
        lb_data=below,
        ub_data=above,
        refuted=(*more.pop("refuted", ()), *refuted.values()),
        **more,
    )


def _best_first(figures: Sequence[Figure], sign: int) -> tuple[Figure, ...]:
    """Return figures without what says no more; ``sign``: 1 if less is better."""
    ranked = sorted(
        figures,
        key=lambda f: (sign * f.value, f.certificate != "yes", f.solver != OURS),
    )
    kept: dict[Any, Figure] = {}
    for figure in ranked:
        kept.setdefault(OURS if figure.solver == OURS else figure.value, figure)
    return tuple(kept.values())


def row_of(record: Record, folder: Path) -> Row:
    """Return a record's row, with published bounds. The date is today.

    A lower bound of ours is what its certificate in the folder shows, or is not there:
    what an unfinished tree left open may be above that.
    """
    took, best = record.totals, record.status != DOUBTFUL
    ours: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "solver": OURS,
        "hardware": f"{len(record.seats)} x {record.engine}" if record.seats else None,
        "time": round(took.seconds, 3),
        "certificate": "yes",
        "nodes": took.nodes,
        "energy_j": took.energy_j and round(took.energy_j, 1),
    }
    published = partial(theirs, "published", PUBLISHED)
    lower, upper = [], []
    if record.best_lower is not None:
        lower.append(published(value=record.best_lower))
    if record.best_upper is not None:
        upper.append(published(value=record.best_upper))
    if best and record.certificate:
        file = record.certificate
        with suppress(OptionError, KeyError, TypeError):  # none: told by its doubt
            bound = Certificate.read(folder / file).content["result"]["lower_bound"]
            lower.append(Figure(value=bound, file=file, **ours))
    if best and record.makespan is not None and record.permutation is not None:
        order = tuple(job + 1 for job in record.permutation)
        found = Figure(value=record.makespan, schedule=order, **ours)
        if record.known_from and record.found_by == record.known_from:
            source = record.known_from
            found = theirs("given", source, value=found.value, schedule=order)
        upper.append(found)
    ends = record.estimated, record.low, record.high
    return row(
        *(record.instance, record.n_jobs, record.n_machines, lower, upper),
        objective=record.objective,
        features=record.features,
        estimate=tuple(float(f"{end:.4g}") for end in ends if end is not None),
    )


def theirs(solver: str, source: str, **more: Any) -> Figure:
    """Return a figure of others; with its schedule, if there is one, in ``more``."""
    shown = "yes" if more.get("schedule") else "no"
    facts = {"date": None, "hardware": None, "time": None, "certificate": shown}
    return Figure(solver=solver, source=source, **facts | more)


def merged(rows: Iterable[Row]) -> list[Row]:
    """Return one row of each instance, with the figures of all that there are of it."""
    found: dict[tuple[str, ...], Row] = {}
    for one in rows:
        key = one.instance, one.objective, one.features
        if old := found.get(key):
            one = row(
                *(one.instance, *one.shape),
                *(old.lb_data + one.lb_data, old.ub_data + one.ub_data),
                objective=one.objective,
                features=one.features,
                refuted=old.refuted,
                estimate=one.estimate or old.estimate,
            )
        found[key] = one
    return list(found.values())


def joined(tables: Mapping[Path, Sequence[Row]], file: Path) -> list[Row]:
    """Return the rows of tables as one; certificates are named from ``file``."""
    return merged(
        replace(
            one,
            lb_data=tuple(
                replace(f, file=os.path.relpath(path.parent / f.file, file.parent))
                if f.file
                else f
                for f in one.lb_data
            ),
        )
        for path, rows in tables.items()
        for one in rows
    )


def as_text(rows: Iterable[Row]) -> str:
    """Return the JSON of a table, an instance a line."""
    lines = ",\n".join(msgspec.json.encode(one).decode() for one in rows)
    return f"[\n{lines}\n]\n"


def read_table(path: Path) -> list[Row]:
    """Return the rows of a table; OptionError: it is none."""
    with expecting(f"{path}: expected a table of bounds"):
        return msgspec.json.decode(read_file(path), type=list[Row])


def problem_of(
    one: Row, folder: Path, data_dir: str | None = None
) -> Problem[Any] | None:
    """Return what a row is about, by its name, or from a certificate in the folder.

    None: neither says; of features a table has only that there are no buffers.
    """
    names = {row.words: name for name, row in OBJECTIVES.items()}
    features: dict[str, dict[str, Any]] = {
        "": {},
        FEATURES["blocking"].words: {"blocking": True},
    }
    if one.type == TYPE and one.objective in names and one.features in features:
        how = {"objective": names[one.objective]} | features[one.features]
        with suppress(InstanceError):  # its file is not at hand
            return read_problem(one.instance, data_dir=data_dir, **how)
    problem_is = one.objective, one.features
    plain = problem_is == ("makespan", "")
    own = None if plain and benchmark_name(one.instance) else one.instance
    for file in (figure.file for figure in one.lb_data if figure.file):
        with suppress(OptionError, InstanceError, KeyError, TypeError):
            told = Certificate.read(folder / file).content["instance"]
            problem = decoded({"kind": checker.KIND, **told})
            known = best_known_of_digest(problem.digest)
            name = own if known is None else known.name
            said = objective_of(problem), features_of(problem)
            if (name, *said) == (one.instance, *problem_is):
                return problem
    return None


def doubts_of(one: Row, folder: Path, problem: Problem[Any] | None) -> list[str]:
    """Return what is wrong in a row of the table of a folder.

    Schedules are evaluated, and certificates compared, as of records; without a problem
    only what needs no times is looked at.
    """
    found = []
    best = row(one.instance, *one.shape, one.lb_data, one.ub_data)
    for name in ("lower_bound", "upper_bound", "status"):
        said, value = getattr(one, name), getattr(best, name)
        if said != value:
            found.append(f"its {name} is {said}, its figures have {value}")
    if (one.lower_bound or 0) > (one.upper_bound or 2**63):
        found.append(f"its bounds {one.lower_bound} and {one.upper_bound} cross")
    for figure in (*one.lb_data, *one.ub_data):
        record = _as_record(one, figure, problem)
        if record is not None and (doubt := doubt_of(record, folder, problem=problem)):
            found.append(f"{figure.value} by {figure.solver}: {doubt}")
    return found


def _as_record(one: Row, figure: Figure, problem: Problem[Any] | None) -> Record | None:
    """Return what a record would say of a figure; None of one that nothing shows."""
    n_jobs, n_machines = one.shape
    facts: dict[str, Any] = {}
    if figure.schedule:
        order = tuple(job - 1 for job in figure.schedule)
        facts = {"makespan": figure.value, "permutation": order}
    elif figure.file:
        facts = {"certificate": figure.file, "proof": Proof.TREE_EXHAUSTED}
        facts["lower_bound"] = figure.value
    else:
        return None
    return Record(
        source=one.instance,
        instance=one.instance,
        digest="" if problem is None else problem.digest,
        n_jobs=n_jobs,
        n_machines=n_machines,
        objective=one.objective,
        features=one.features,
        status=Status.UNKNOWN,
        **facts,
    )


def checked(
    rows: Sequence[Row], path: Path, data_dir: str | None
) -> tuple[list[str], str]:
    """Return what does not hold in the table of a file, and how much there is in it.

    See ``doubts_of``.
    """
    doubts, read = [], 0
    for one in rows:
        problem = problem_of(one, path.parent, data_dir)
        read += problem is not None and any(f.schedule for f in one.ub_data)
        found = doubts_of(one, path.parent, problem)
        doubts += [f"{path}: {one.instance}: {doubt}" for doubt in found]
    closed = sum(one.status == "closed" for one in rows)
    schedules = sum(any(f.schedule for f in one.ub_data) for one in rows)
    proofs = sum(any(f.file for f in one.lb_data) for one in rows)
    return doubts, (
        f"{path}: {len(rows)} instances, {closed} closed; of {schedules} with schedules"
        f" {read} were evaluated; {proofs} with a certificate"
    )
