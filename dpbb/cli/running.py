"""What commands that search share: instances, log, signals, results."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from dpbb.cli import EXIT_INTERRUPTED
from dpbb.cli.arguments import how_read
from dpbb.cli.output import fitted
from dpbb.errors import OptionError, UnwrittenError
from dpbb.flowshop.best_known import benchmark_name
from dpbb.flowshop.family import read_problem
from dpbb.options import ProgressStyle, SolveOptions, Verbosity
from dpbb.options.permutations import jobs_in
from dpbb.problem import Problem, n_machines_of, with_ends
from dpbb.progress.base import Progress
from dpbb.result import Result, Status
from dpbb.result.written import check_form
from dpbb.text.files import check_writable
from dpbb.text.names import clean

EXIT_CODES = {
    Status.OPTIMAL: 0,
    Status.INFEASIBLE_CUTOFF: 0,
    Status.FEASIBLE: 3,
    Status.UNKNOWN: 4,
}

EXIT_CODES_TEXT = """\
exit codes: 0 optimal, or proved that nothing is below the given value; 1 error; 2
bad input; 3 a schedule, not proved optimal; 4 nothing known; 5 no scheduler answers,
or it was lost (see dpbb resume); 130 interrupted twice. Ctrl-C once (or SIGTERM)
stops the search and still prints the best schedule."""

SAME_S = 2.0
"""A SIGTERM so soon after another is the same request."""


def check_files(args: argparse.Namespace, options: Mapping[str, Any]) -> None:
    """Raise OptionError for files to write that are read, or cannot be written.

    ``options``: those that are given.
    """
    output = getattr(args, "output", None)
    if output is not None:
        check_form(output, "--output")
    read = "instance", "source", "setups", "lags"
    known = [getattr(args, name, None) for name in read]
    known.append(options.get("checkpoint"))
    for name, path in (
        ("--output", output),
        ("--certificate", options.get("certificate")),
        ("--optima-file", options.get("optima_file")),
    ):
        if path is not None:
            check_writable(path, name, *known)
            known.append(path)


def problem_of(
    args: argparse.Namespace, options: SolveOptions | None = None, *, told: bool = True
) -> Problem[Any]:
    """Read the instance that the arguments name, with the jobs that they give.

    ``options``: how much is told; default: everything. ``told``: whether its size is.
    """
    options = options or SolveOptions()
    quiet = options.verbosity is Verbosity.QUIET
    with logging_to_stderr(Verbosity.QUIET if quiet else Verbosity.NORMAL):
        problem = read_problem(args.instance, **how_read(args))
    if told:
        tell_size(args.instance, problem, options)
    ends = {}
    for side in "front", "back":
        text = getattr(args, side, None)
        ends[side] = [] if text is None else jobs_in(text)
        if text is not None and not ends[side]:
            raise OptionError(f"--{side}: expected jobs, got {text!r}")
    return with_ends(problem, **ends)


def tell_size(source: str, problem: Problem[Any], options: SolveOptions) -> None:
    """Say what was taken for jobs and what for machines, if a file was read."""
    if _tells(options) and benchmark_name(source) is None:
        size = f"{problem.n_jobs} jobs x {n_machines_of(problem)} machines"
        for what in "taken", "skipped":
            some = ", ".join(getattr(getattr(problem, "instance", None), what, ()))
            size += f"; {what}: {clean(some)}" if some else ""
        print(f"dpbb: {source}: {size}", file=sys.stderr)


def _tells(options: SolveOptions) -> bool:
    """Whether stderr may have a line for people; lines of JSON are all of it."""
    json = options.progress is ProgressStyle.JSON
    return not json and options.verbosity is not Verbosity.QUIET


def run_and_show(
    args: argparse.Namespace,
    options: SolveOptions,
    search: Callable[..., Result],
    text: Callable[[Result], str] | None = None,
) -> int:
    """Search with progress on stderr, show and write the result; the exit code.

    Parameters
    ----------
    args
        With ``output`` and ``json``, and perhaps ``on_end``.
    search
        Called with ``progress`` and ``should_stop``; returns the result.
    text
        What is shown of the result; default: its JSON or summary.
    """
    from dpbb.progress.notices import END, facts_of_result, noticed, telling
    from dpbb.solving.arguments import shown_by

    unwritten = None
    with (
        logging_to_stderr(options.verbosity),
        telling(getattr(args, "on_end", None)) as told,
        stopping() as asked,
    ):
        progress = noticed(shown_by(None, options), told)
        asked.alert = progress.alert
        try:
            result = search(progress=progress, should_stop=asked)
        except UnwrittenError as error:
            unwritten, result = error, error.result
        told.tell(END, facts_of_result(result))
    path = args.output
    try:
        if path is not None and result.permutation is None:
            print(f"dpbb: no schedule to write to {path}", file=sys.stderr)
        elif path is not None:
            result.write_schedule(Path(path))
            if _tells(options):
                print(f"dpbb: wrote {path}", file=sys.stderr)
        if unwritten is not None:
            raise unwritten
    finally:  # what was found is not lost with a full disk
        if text is not None:
            print(text(result))
        else:
            print(result.to_json() if args.json else fitted(result.summary()))
    return EXIT_CODES[result.status]


def print_rows(rows: Mapping[str, object]) -> None:
    """Print names and what they stand for, one a line; none is wrapped at U+00A0."""
    for name, value in rows.items():
        print(fitted(f"{name:<14} {value}").replace("\xa0", " "))


ToStderr: Any = type(logging.lastResort)  # a StreamHandler
"""Writes to what stderr is at the time: a live view passes it on, above itself."""


@contextmanager
def logging_to_stderr(verbosity: Verbosity) -> Iterator[None]:
    """Log messages on stderr; the command line alone installs a handler, once."""
    logger = logging.getLogger("dpbb")
    if any(isinstance(known, ToStderr) for known in logger.handlers):
        yield
        return
    handler = ToStderr()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    levels = {Verbosity.QUIET: logging.ERROR, Verbosity.VERBOSE: logging.INFO}
    before = logger.level
    logger.setLevel(levels.get(verbosity, logging.WARNING))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


class Asked:
    """Called, it says whether a signal has asked this process to stop."""

    def __init__(self, message: str) -> None:
        self.alert: Callable[[str], None] = Progress().alert
        self._message = message
        self._first: tuple[int, float] | None = None  # signal, and when

    def __call__(self) -> bool:
        """Whether there was a signal."""
        return self._first is not None

    def on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Note the first signal; the second one ends this process.

        A SIGTERM soon after a SIGTERM is the same one: who asks a whole group of
        processes reaches this one twice, if its parent passes on what it gets.
        """
        now = time.monotonic()
        if self._first is None:
            self._first = number, now
            self.alert(self._message)
            return
        first, at = self._first
        if first == number == signal.SIGTERM and now - at < SAME_S:
            return
        # a live view may have left the cursor at the end of a line
        os.write(2, b"\r\n" * os.isatty(2) + b"dpbb: interrupted\n")
        # At once, whatever hangs: the worker process ends with its standard input.
        os._exit(EXIT_INTERRUPTED)


@contextmanager
def stopping(
    message: str = "dpbb: stopping; Ctrl-C again quits without a result",
) -> Iterator[Asked]:
    """Note Ctrl-C or SIGTERM in what is yielded; the second one ends this process."""
    asked = Asked(message)
    before = {
        number: signal.signal(number, asked.on_signal)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
