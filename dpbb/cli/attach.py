"""``dpbb attach``."""

import argparse
import sys
from contextlib import closing

from dpbb.cli.remote import add_run, attached
from dpbb.cli.shared import (
    EXIT_CODES,
    EXIT_CODES_TEXT,
    add_log_json,
    add_on_end,
    add_option,
    stopping,
)
from dpbb.errors import DpbbError, OptionError
from dpbb.options import OPTIONS, SolveOptions
from dpbb.result import Result
from dpbb.text.files import check_writable

EPILOG = (
    "Ctrl-C leaves the run, which goes on (exit code 3 or 4, as what is known).\n\n"
    + EXIT_CODES_TEXT
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run and how to show it."""
    add_run(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument(
        "--certificate",
        metavar="FILE",
        help="write the certificate, if the run keeps one (default: where the option "
        "certificate of the run says)",
    )
    parser.add_argument(
        "--optima-file",
        metavar="FILE",
        help="write the optimal permutations, those found before too, if the run has "
        "the option all_optima",
    )
    add_option(parser, OPTIONS["progress"])
    add_log_json(parser)
    add_on_end(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def run(args: argparse.Namespace) -> int:
    """Show progress until the run is over, then its result."""
    from dpbb.coordination.snapshot import RunState
    from dpbb.progress import make_progress, show
    from dpbb.progress.notices import END, Noticed, facts_of_result, telling

    given = "none" if args.quiet else getattr(args, "progress", "auto")
    style = SolveOptions.from_mapping({"progress": given}).progress
    message = "dpbb: leaving the run, which goes on; Ctrl-C again quits at once"
    if args.certificate is not None:
        check_writable(args.certificate, "--certificate", args.optima_file)
    with (
        telling(args.on_end) as told,
        attached(args, optima_file=args.optima_file) as handle,
        stopping(message) as should_leave,
    ):
        with closing(Noticed(make_progress(style), told)) as progress:
            should_leave.alert = progress.alert
            if handle.dashboard is not None:
                progress.note(f"dashboard {handle.dashboard}")
            snapshot = show(handle.stream(0.5), progress, should_leave)
        if snapshot.state in (RunState.RUNNING, RunState.STOPPING):
            print(f"run {handle.run_id} goes on", file=sys.stderr)
            return 4 if snapshot.value is None else 3
        result = handle.result()
        told.tell(END, facts_of_result(result))
    print(result.to_json() if args.json else result.summary())
    write_certificate(result, args.certificate)
    return EXIT_CODES[result.status]


def write_certificate(result: Result, given: str | None) -> None:
    """Write the certificate where the arguments say, else where the run's option does.

    Raises
    ------
    OptionError
        The arguments want one, and there is none.
    DpbbError
        It cannot be written where the arguments say.
    """
    path, certificate = given or result.options.certificate, result.certificate
    if certificate is None:
        if given is not None:
            raise OptionError(
                "--certificate: expected a run with the option certificate that is "
                "exhausted, got one without"
            )
        if path is not None:
            print(f"dpbb: no certificate: {result.termination}", file=sys.stderr)
        return
    if path is None:
        print("dpbb: a certificate is kept: --certificate FILE", file=sys.stderr)
        return
    try:
        certificate.write(path)
    except DpbbError as error:
        if given is not None:
            raise
        print(
            f"dpbb: no certificate here: {error}; --certificate FILE says where",
            file=sys.stderr,
        )
    else:
        print(f"dpbb: certificate {path}", file=sys.stderr)
