"""Runs on a cluster: ``dpbb submit``, ``list``, ``attach``, ``stop`` and ``save``."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpbb.cli.arguments import (
    SCHEDULERS,
    add_common,
    add_instance,
    add_option,
    add_options,
    add_rows,
    add_short,
    given_options,
)
from dpbb.cli.output import fitted
from dpbb.cli.running import (
    EXIT_CODES,
    EXIT_CODES_TEXT,
    check_files,
    logging_to_stderr,
    problem_of,
    stopping,
)
from dpbb.cluster.client.connect import which_cluster
from dpbb.coordination.snapshot import WAITING_S, RunState
from dpbb.errors import DpbbError, OptionError
from dpbb.options import OPTIONS, SolveOptions, Verbosity, kinds
from dpbb.progress.words import (
    format_count,
    format_seconds,
    left_text,
    shares_text,
    state_word,
)
from dpbb.result import Result
from dpbb.text.files import check_writable
from dpbb.text.names import clean, middle

if TYPE_CHECKING:
    from dpbb.coordination.snapshot import Snapshot


def address_of(given: str | None) -> str:
    """Return the scheduler's address: as given, or see ``which_cluster``."""
    named = kinds.optional(kinds.address()).check(given, "--scheduler")
    address = named or which_cluster().address
    if address is None:
        raise OptionError(
            f"--scheduler: expected the address of a Dask scheduler, got none, nor one "
            f"in {SCHEDULERS}"
        )
    return address


@contextmanager
def connected(args: argparse.Namespace) -> Iterator[Any]:
    """Connect to the scheduler; yields a client."""
    from dpbb.cluster.client.connect import connect

    with connect(address_of(args.scheduler)) as client:
        yield client


@contextmanager
def attached(args: argparse.Namespace, **how: Any) -> Iterator[Any]:
    """Connect to the scheduler; yields a handle of the run, attached so."""
    from dpbb.api import attach

    with connected(args) as client, attach(args.run_id, client, **how) as run:
        yield run


def add_submit(parser: argparse.ArgumentParser) -> None:
    """Add the instance and all options of a search."""
    parser.epilog = """\
The start heuristics run here, the tree on the cluster. Prints the name of the run, and
on stderr the address of its page; see dpbb list, attach, stop and save. With
--checkpoint it survives its scheduler. dpbb attach writes the certificate that
--certificate asks for, at the end of the run, and, with its own --optima-file, the
optimal permutations."""
    add_instance(parser)
    add_common(parser, "--config", "--fresh", "--json")
    add_options(parser, "INSTANCE")


def run_submit(args: argparse.Namespace) -> int:
    """Open the run and print its name."""
    given = given_options(args)
    given["scheduler"] = address_of(given.get("scheduler"))
    options = SolveOptions.from_mapping(given)
    if options.optima_file is not None:
        raise OptionError(
            "optima_file: expected none, as dpbb submit does not stay to write it, "
            f"got {options.optima_file}; dpbb attach RUN --optima-file FILE writes all "
            "that the run has found, at any time"
        )
    check_files(args, given)
    with logging_to_stderr(options.verbosity):
        from dpbb import api
        from dpbb.solving.arguments import shown_by

        handle = api.submit(
            problem_of(args, options),
            options=options,
            fresh=args.fresh,
            progress=shown_by(None, options),
        )
        run_id, snapshot = handle.run_id, handle.snapshot()
        until = time.monotonic() + 2 * WAITING_S
        while not (snapshot.seats or snapshot.waits_for) and time.monotonic() < until:
            time.sleep(WAITING_S / 10)
            snapshot = handle.snapshot()
        page = handle.dashboard
        handle.detach()
    if snapshot.waits_for and options.verbosity is not Verbosity.QUIET:
        print(f"dpbb: waiting: {snapshot.waits_for}", file=sys.stderr)
    if page is not None and options.verbosity is not Verbosity.QUIET:
        print(f"dpbb: page {page}?run={run_id}", file=sys.stderr)
    if options.certificate is not None:
        path = Path(options.certificate).absolute()
        print(f"dpbb: dpbb attach {run_id} will write {path}", file=sys.stderr)
    print(json.dumps({"run_id": run_id}) if args.json else run_id)
    return 0


HEADER = (
    "run", "instance", "state", "time", "left", "best", "bound", "gap", "nodes",
    "workers", "waiting for",
)  # fmt: skip

NAME_WIDTH = 32
"""Longer names are shortened in their middle; ``--json`` has them whole."""


def add_list(parser: argparse.ArgumentParser) -> None:
    """Add the scheduler and ``--json``."""
    add_common(parser, "--scheduler")
    add_rows(parser, {"--json": "a JSON object for each run, one a line"})


def run_list(args: argparse.Namespace) -> int:
    """Show every run that the cluster knows."""
    from dpbb.api import runs
    from dpbb.progress.json_lines import snapshot_json

    with connected(args) as client:
        snapshots = runs(client)
    if args.json:
        for snapshot in snapshots:
            print(snapshot_json(snapshot))
        return 0
    rows = [HEADER, *map(_row, snapshots)]
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())
    return 0


def _row(snapshot: Snapshot) -> tuple[str, ...]:
    return (
        snapshot.run_id,
        middle(clean(snapshot.instance), NAME_WIDTH),
        shares_text(snapshot) or state_word(snapshot),
        format_seconds(snapshot.seconds),
        left_text(snapshot, brief=True) or "-",
        "-" if snapshot.value is None else str(snapshot.value),
        "-" if snapshot.lower_bound is None else str(snapshot.lower_bound),
        "-" if snapshot.gap is None else f"{snapshot.gap:.2%}",
        format_count(snapshot.nodes),
        str(len(snapshot.seats)),
        clean(snapshot.waits_for),
    )


def add_attach(parser: argparse.ArgumentParser) -> None:
    """Add the run and how to show it."""
    parser.epilog = (
        "Ctrl-C leaves the run, which goes on (exit code 3 or 4, as what is known).\n\n"
        + EXIT_CODES_TEXT
    )
    add_common(parser, "run_id", "--scheduler", "--json")
    rows = {
        "--certificate FILE": "write the certificate, if the run keeps one (default: "
        "where the option certificate of the run says)",
        "--optima-file FILE": "write the optimal permutations, those found before too, "
        "if the run has the option all_optima",
    }
    add_rows(parser, rows)
    add_option(parser, OPTIONS["progress"])
    add_short(parser, "--log-json", row="progress", value="json")
    add_common(parser, "--on-end")
    add_short(parser, "-q", "--quiet", row="progress", value="none")


def run_attach(args: argparse.Namespace) -> int:
    """Show progress until the run is over, then its result."""
    from dpbb.progress import make_progress, show
    from dpbb.progress.notices import END, facts_of_result, noticed, telling

    given = getattr(args, "progress", "auto")
    style = SolveOptions.from_mapping({"progress": given}).progress
    message = "dpbb: leaving the run, which goes on; Ctrl-C again quits at once"
    if args.certificate is not None:
        check_writable(args.certificate, "--certificate", args.optima_file)
    with (
        telling(args.on_end) as told,
        attached(args, optima_file=args.optima_file) as handle,
        stopping(message) as should_leave,
    ):
        with closing(noticed(make_progress(style), told)) as progress:
            should_leave.alert = progress.alert
            if handle.dashboard is not None:
                progress.note(f"dashboard {handle.dashboard}")
            snapshot = show(handle.stream(0.5), progress, should_leave)
        if snapshot.state in (RunState.RUNNING, RunState.STOPPING):
            print(f"run {handle.run_id} goes on", file=sys.stderr)
            return 4 if snapshot.value is None else 3
        result = handle.result()
        told.tell(END, facts_of_result(result))
    print(result.to_json() if args.json else fitted(result.summary()))
    _write_certificate(result, args.certificate)
    return EXIT_CODES[result.status]


def _write_certificate(result: Result, given: str | None) -> None:
    """Write the certificate where the arguments say, else where the run's option does.

    Raises
    ------
    OptionError
        The arguments want one, and there is none.
    DpbbError
        It cannot be written where the arguments say.
    """
    path, certificate = given or result.options.certificate, result.certificate
    if certificate is None and given is not None:
        raise OptionError(
            "--certificate: expected a run with the option certificate that is "
            "exhausted, got one without"
        )
    if certificate is None and path is None:
        return
    if certificate is None:
        told = f"certificate: not written, as there is no proof ({result.termination})"
    elif path is None:
        told = "a certificate is kept: --certificate FILE"
    else:
        try:
            certificate.write(path)
            told = f"certificate {path}"
        except DpbbError as error:
            if given is not None:
                raise
            told = f"no certificate here: {error}; --certificate FILE says where"
    print(f"dpbb: {told}", file=sys.stderr)


def add_stop(parser: argparse.ArgumentParser) -> None:
    """Add the run."""
    add_common(parser, "run_id", "--scheduler", "--json")


def run_stop(args: argparse.Namespace) -> int:
    """Stop the run, and show what it has found.

    DpbbError: it keeps checkpoints, and its last state could not be saved.
    """
    with attached(args) as handle:
        handle.stop()
        result, last = handle.result(), handle.snapshot()
    print(result.to_json() if args.json else fitted(result.summary()))
    saved = last.checkpoint
    if saved is not None and saved.at_risk_s and not last.exhausted:
        why = saved.error or f"{saved.url} on host {saved.host} does not answer"
        raise DpbbError(f"the state at the end was not saved: {why}")
    return 0


def add_save(parser: argparse.ArgumentParser) -> None:
    """Add the run and the file."""
    add_common(parser, "run_id", "--scheduler")
    file = {
        "file FILE?": "file on this machine, for dpbb resume; default: a checkpoint in "
        "the run's own folder"
    }
    add_rows(parser, file)


def run_save(args: argparse.Namespace) -> int:
    """Write the state of the run."""
    with attached(args) as handle:
        if args.file is None:
            status = handle.save_now()
            print(f"{status.files[0]} in {status.url} on host {status.host}")
        else:
            handle.save(args.file)
            print(f"run {handle.run_id} saved in {args.file}")
    return 0
