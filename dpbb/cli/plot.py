"""``dpbb plot``: reads results, logs, checkpoints and benchmarks."""

import argparse
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from dpbb.campaign.folder import Record
from dpbb.campaign.table import problem_of, row_of
from dpbb.cli.arguments import add_rows
from dpbb.coordination.format import MAGIC
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import DpbbError, OptionError
from dpbb.plotting import KINDS, Kind, drawn
from dpbb.problem import Scheduled
from dpbb.result import Improvement, Proof, Result, Status, Termination
from dpbb.result.written import PICTURES
from dpbb.text.files import (
    check_writable,
    expecting,
    known_suffix,
    noted,
    read_file,
    replacing,
)

SUFFIXES = (*PICTURES, ".html")

ALLOWED = (
    "a result (dpbb solve --json), a log (dpbb solve --log-json), a checkpoint, a "
    "record of a campaign, or the JSON of dpbb bench multigpu"
)

MOST_BYTES = 2**30
"""Of a file: logs of long runs are large."""


def add_plot(parser: argparse.ArgumentParser) -> None:
    """Add the file, the kind and the picture."""
    parser.epilog = """\
FILE, and what can be drawn of it (the first is the default):
  dpbb solve --json           gantt, convergence
  dpbb solve --log-json       convergence
  a checkpoint                intervals, convergence, gantt (of the incumbent)
  records/NAME.json           gantt, convergence (of a campaign)
  dpbb bench multigpu --json  speedup
With --output NAME.html a gantt is a page that tells under the pointer what each bar
is. All others need Matplotlib: pip install 'dpbb[plot]'."""
    rows = {
        "file FILE": "what to draw; see below",
        f"--kind {'|'.join(KINDS)}": "what to draw of it",
    }
    add_rows(parser, rows)
    parser.add_argument(
        "--output",
        metavar="PICTURE",
        required=True,
        help=f"where to write it; the suffix says how: {', '.join(SUFFIXES)}",
    )


def run_plot(args: argparse.Namespace) -> int:
    """Draw a plot into a file."""
    suffix = known_suffix(args.output, "--output", SUFFIXES)
    try:
        found = read_plotted(args.file)
        kind = args.kind or found.kinds[0]
        check_writable(args.output, "--output")
        data = _data(found, kind)
        if suffix == ".html" and kind != "gantt":
            raise OptionError(f"--output: expected .html for a gantt, not {kind}")
        picture = drawn(data, kind, suffix)
    except OptionError:
        raise
    except DpbbError as error:  # whatever it is, the file is not as it has to be
        raise OptionError(f"FILE: {args.file}: {error}") from error
    expected = f"--output: expected a file that can be written, {args.output}"
    with expecting(expected), replacing(args.output) as file:
        file.write(picture)
    return 0


@dataclass(frozen=True, slots=True)
class Plotted:
    """Content of a file, what it is called, and the kinds of plots it is for."""

    name: str
    content: Any
    kinds: tuple[Kind, ...]


def read_plotted(file: str) -> Plotted:
    """Read a file of any kind.

    Raises
    ------
    OptionError
        Not there, or none of the kinds.
    DpbbError
        Damaged.
    """
    path = Path(file)
    with expecting(f"FILE: {file}: expected {ALLOWED}"):
        if "://" in file or path.is_dir():
            noted(path)
        elif not (content := read_file(path, MOST_BYTES)).startswith(MAGIC):
            try:
                return _json(content.decode(), file)
            except UnicodeDecodeError as error:
                raise ValueError("a binary file") from error
    from dpbb.cluster.storage.checkpoint_folder import load_checkpoint

    kinds: tuple[Kind, ...] = ("intervals", "convergence", "gantt")
    return Plotted("a checkpoint", load_checkpoint(file), kinds)


def _json(text: str, file: str) -> Plotted:
    """Return what is in a file of text; ValueError: nothing that can be drawn."""
    if not text.strip():
        raise ValueError("nothing: the file is empty")
    try:
        values = {1: msgspec.json.decode(text)}
    except (ValueError, RecursionError):  # perhaps an object a line
        values = _lines(text)
    log = [
        _snapshot(value, f"{file}, line {number}")
        for number, value in values.items()
        if isinstance(value, dict) and "run_id" in value
    ]
    if log:
        return Plotted("a log", log, ("convergence",))
    (first,) = values.values() if len(values) == 1 else (None,)
    if isinstance(first, dict) and "attempts" in first:
        return Plotted("a record", _recorded(text, file), ("gantt", "convergence"))
    if isinstance(first, dict) and "status" in first:
        result = Result.from_json(text)
        return Plotted("a result", result, ("gantt", "convergence"))
    rows = first.get("rows") if isinstance(first, dict) else first
    if isinstance(rows, list):
        return Plotted("a benchmark", rows, ("speedup",))
    raise ValueError(f"other JSON: {text.strip()[:60]!r}")


def _lines(text: str) -> dict[int, Any]:
    """Return the JSON of each line, by its number.

    The last one may be what a process that was killed had written of it, or its error.
    """
    lines = [pair for pair in enumerate(text.splitlines(), 1) if pair[1].strip()]
    values = {}
    for number, line in lines:
        try:
            values[number] = msgspec.json.decode(line)
        except (ValueError, RecursionError):
            if not values or number != lines[-1][0]:
                raise ValueError(f"line {number}: {line[:60]!r}") from None
    return values


def _recorded(text: str, file: str) -> Result:
    """Return what a record of a campaign says of an attempt."""
    with expecting(f"FILE: {file}: expected a record of a campaign that was tried"):
        known = msgspec.json.decode(text, type=Record)
        result = Result(
            status=Status(known.status),
            termination=Termination(known.termination),
            proof=Proof(known.proof),
            makespan=known.makespan,
            lower_bound=known.lower_bound or 0,
            permutation=known.permutation,
            instance=known.instance,
            digest=known.digest,
            n_jobs=known.n_jobs,
            n_machines=known.n_machines,
            trajectory=tuple(Improvement(*step) for step in known.trajectory),
            objective=known.objective,
            **asdict(known.totals),
        )
    folder = Path(file).parent.parent
    problem = problem_of(row_of(known, folder), folder)
    order = result.permutation
    if order is None or not isinstance(problem, Scheduled):
        return result
    if problem.digest != result.digest:
        return result
    return replace(result, operations=problem.schedule(order))


def _snapshot(values: Any, where: str) -> Snapshot:
    """Return a snapshot of a log, without what nobody draws: it may have no end.

    OptionError: it is none, or one of a version with other fields; says the line.
    """
    row = "a row of dpbb solve --log-json of this version"
    with expecting(f"FILE: {where}: expected {row}"):
        return msgspec.convert({**values, "left": None}, Snapshot)


def _data(found: Plotted, kind: str) -> Any:
    """Return what the plot of a kind takes.

    OptionError: the kind is not for this file, or there is no incumbent to draw.
    """
    if kind not in found.kinds:
        raise OptionError(
            f"--kind: expected {' or '.join(found.kinds)} for {found.name}, got {kind}"
        )
    if kind != "gantt" or isinstance(found.content, Result):
        return found.content
    problem, permutation = found.content.spec.problem, found.content.permutation
    if permutation is None:
        raise OptionError("--kind gantt: expected an incumbent, got none")
    return problem, permutation
