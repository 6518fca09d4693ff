"""``dpbb verify``."""

from __future__ import annotations

from dataclasses import asdict
from importlib.resources import files
from typing import TYPE_CHECKING

from dpbb.errors import OptionError
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    import argparse

EPILOG = """\
exit codes: 0 the certificate holds; 1 it does not; 2 it is none.
--print-checker writes a program of one file, which needs nothing but Python and shares
no code with dpbb: dpbb verify --print-checker > checker.py"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the certificate and how to check it."""
    parser.add_argument("certificate", metavar="CERTIFICATE", nargs="?")
    parser.add_argument(
        "--witnesses",
        type=int,
        default=20,
        metavar="K",
        help="finished subtrees to explore again (default: 20; 0: only add up)",
    )
    parser.add_argument(
        "--engine",
        default="auto",
        choices=("auto", "cpu", "gpu", "reference"),
        help="what explores them (default: cpu, or reference for other problems)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="chooses them, with a hash of the certificate (default: a random number, "
        "which is printed)",
    )
    parser.add_argument(
        "--most-nodes",
        type=int,
        metavar="N",
        help="the largest of them (default: 10,000,000; reference: 100,000)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument(
        "--print-checker", action="store_true", help="print the program of one file"
    )


def run(args: argparse.Namespace) -> int:
    """Check a certificate and show what was found."""
    if args.print_checker:
        print(files("dpbb.proof").joinpath("checker.py").read_text("utf-8"), end="")
        return 0
    if args.certificate is None:
        raise OptionError("certificate: expected the path of a certificate, got none")
    from dpbb.proof.verify import verify

    found = verify(
        args.certificate,
        witnesses=args.witnesses,
        engine=args.engine,
        seed=args.seed,
        most_nodes=args.most_nodes,
    )
    print(
        json_text({**asdict(found), "ok": found.ok}) if args.json else found.summary()
    )
    return 0 if found.ok else 1
