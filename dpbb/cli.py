"""The command line: ``dpbb solve``, ``info``, ``evaluate``, ``engines``, ``bench``."""

from __future__ import annotations

import atexit
import gc
import json
import logging
import os
import signal
import sys
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.cli_arguments import parse_arguments
from dpbb.errors import DpbbError, InstanceError, OptionError
from dpbb.options import SolveOptions, Verbosity, option_rows, read_toml
from dpbb.permutations import parse_permutation
from dpbb.result import Result, Status

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from dpbb.flowshop import FlowShopInstance
    from dpbb.schedule import Schedule

EXIT_ERROR = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_CODES = {
    Status.OPTIMAL: 0,
    Status.INFEASIBLE_CUTOFF: 0,
    Status.FEASIBLE: 3,
    Status.UNKNOWN: 4,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns
    -------
    int
        The exit code; see ``dpbb solve --help``.
    """
    if arguments is None:
        # Python's last collection goes through all of Numba: 0.3 s for nothing.
        atexit.register(gc.freeze)
    try:
        args = parse_arguments(sys.argv[1:] if arguments is None else list(arguments))
        return COMMANDS[args.command](args)
    except (InstanceError, OptionError) as error:
        print(f"dpbb: error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except DpbbError as error:
        print(f"dpbb: error: {error}", file=sys.stderr)
        return EXIT_ERROR
    except BrokenPipeError:
        # Whoever read our output is gone; a flush at exit would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("dpbb: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


# -- commands --------------------------------------------------------------------------


def _solve(args: argparse.Namespace) -> int:
    options = _options(args)
    instance = _instance(args)
    output = None if args.output is None else _writable(args.output)
    with _logging(options.verbosity), _stopping() as should_stop:
        from dpbb import api
        from dpbb.progress import ProgressPrinter

        quiet = options.verbosity is Verbosity.QUIET
        progress = ProgressPrinter(
            None if quiet else sys.stderr,
            interval_s=options.report_interval_s,
            json_lines=args.log_json,
        )
        result = api.solve(
            instance, options=options, progress=progress, should_stop=should_stop
        )
    if output is not None:
        _write_schedule(result, output)
    print(result.to_json(schedule=False) if args.json else result.summary())
    return EXIT_CODES[result.status]


def _info(args: argparse.Namespace) -> int:
    from dpbb.flowshop import FlowShopProblem
    from dpbb.problem import root_bound

    instance = _instance(args)
    problem = FlowShopProblem(instance)
    known = instance.best_known
    facts = {
        "instance": instance.name,
        "n_jobs": instance.n_jobs,
        "n_machines": instance.n_machines,
        "digest": instance.digest,
        "least_time": int(instance.times.min()),
        "largest_time": int(instance.times.max()),
        "lb1_root": problem.root_bound,
        "lb1_children": root_bound(problem),
        "best_known_lower_bound": None if known is None else known.lower_bound,
        "best_known_makespan": None if known is None else known.upper_bound,
    }
    if args.json:
        print(json.dumps(facts))
        return 0
    print(f"instance       {instance.name}")
    print(f"size           {instance.n_jobs} jobs x {instance.n_machines} machines")
    print(f"times          {facts['least_time']} to {facts['largest_time']}")
    print(f"digest         {instance.digest}")
    print(f"bounds (LB1)   {facts['lb1_root']} at the root, ", end="")
    print(f"{facts['lb1_children']} over its children")
    print(f"best known     {'unknown' if known is None else known}")
    return 0


def _evaluate(args: argparse.Namespace) -> int:
    from dpbb import api

    instance = _instance(args)
    output = None if args.output is None else _writable(args.output)
    order = parse_permutation(args.permutation, one_based=args.one_based)
    schedule = api.evaluate(instance, order)
    if output is not None:
        _write_csv(schedule, output)
    if args.json:
        values = {
            "instance": instance.name,
            "digest": instance.digest,
            "makespan": schedule.makespan,
            "permutation": schedule.permutation,
            "start": schedule.start.tolist(),
            "end": schedule.end.tolist(),
        }
        print(json.dumps(values))
    else:
        print(f"makespan {schedule.makespan}   (jobs and machines count from 0)")
        print(schedule)
    return 0


def _engines(args: argparse.Namespace) -> int:
    from dpbb.engines.registry import available_engines, get_engine

    found = []
    for name, reason in available_engines().items():
        devices = [] if reason is not None else get_engine(name).devices()
        found.append((name, reason, devices))
    if args.json:
        keys = ("engine", "reason", "devices")
        rows = [(name, why, [asdict(one) for one in got]) for name, why, got in found]
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return 0
    for name, reason, devices in found:
        print(f"{name:<10} {reason or 'available'}")
        for device in devices:
            print(
                f"{'':<10} - {device.name or device.kind}, {device.threads} thread(s)"
            )
    return 0


def _bench(args: argparse.Namespace) -> int:
    return int(args.suite_run(args))


def _options(args: argparse.Namespace) -> SolveOptions:
    """Defaults, then the TOML file, then the flags."""
    values = {} if args.config is None else read_toml(args.config)
    for row in option_rows():
        given = getattr(args, row.name, None)
        if isinstance(given, str):
            given = row.kind.parse(given, row.flag)
        if given is not None:
            values[row.name] = given
    return SolveOptions.from_mapping(values)


def _instance(args: argparse.Namespace) -> FlowShopInstance:
    from dpbb.flowshop.formats import read_instance

    return read_instance(
        args.instance,
        index=args.index,
        orientation=args.orientation,
        data_dir=args.data,
    )


COMMANDS = {
    "solve": _solve,
    "info": _info,
    "evaluate": _evaluate,
    "engines": _engines,
    "bench": _bench,
}


# -- files, log, signals ---------------------------------------------------------------


def _writable(path: str) -> Path:
    """Refuse a path that cannot be written to now, not after hours of search."""
    try:
        with Path(path).open("a"):
            return Path(path)
    except OSError as error:
        raise OptionError(
            f"--output: expected a file that can be written, got {path}: "
            f"{error.strerror or error}"
        ) from error


def _write_schedule(result: Result, path: Path) -> None:
    if result.operations is None:
        if not path.stat().st_size:  # made when its writability was tested
            path.unlink()
        print(f"dpbb: no schedule to write to {path}", file=sys.stderr)
    else:
        _write_csv(result.schedule(), path)


def _write_csv(schedule: Schedule, path: Path) -> None:
    try:
        schedule.write_csv(path)
    except OSError as error:
        raise DpbbError(f"{path}: cannot be written: {error.strerror}") from error


@contextmanager
def _logging(verbosity: Verbosity) -> Iterator[None]:
    """Log messages on stderr; the command line alone installs a handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    levels = {Verbosity.QUIET: logging.ERROR, Verbosity.VERBOSE: logging.INFO}
    logger = logging.getLogger("dpbb")
    logger.setLevel(levels.get(verbosity, logging.WARNING))
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def _stopping() -> Iterator[Any]:
    """Ctrl-C or SIGTERM ends the search, the second one this process."""
    count = 0

    def stop(number: int, _frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count == 1:
            print(
                "dpbb: stopping; Ctrl-C again quits without a result", file=sys.stderr
            )
        else:
            # At once, whatever hangs: the worker process ends with its standard input.
            os._exit(128 + number)

    before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield lambda: count > 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
