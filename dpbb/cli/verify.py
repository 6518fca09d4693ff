"""``dpbb verify``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from dpbb.cli.arguments import add_common, add_rows
from dpbb.cli.output import fitted
from dpbb.cluster.client.connect import which_cluster
from dpbb.errors import InstanceError, OptionError
from dpbb.options import EngineName, kinds
from dpbb.text.json_text import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpbb.proof.verify import Verification

DAMAGED = 2
"""Exit code of what is no certificate."""

GRAVEST = (1, DAMAGED, 3, 4, 0)
"""Of several exit codes the first of these is theirs."""


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add the certificate and how to check it."""
    parser.epilog = """\
exit codes: 0 proved again; 1 it does not hold; 2 it is no certificate, or damaged;
3 not checked enough: it says what would help; 4 audited: it says who passes, how often;
of several certificates, each of which has a line, the first there is of 1, 2, 3, 4, 0.
--print-checker writes a program of one file, which needs nothing but Python and has
rules, books and draws in common with dpbb, but no engine (of shops with dates, set-ups
and more it wants a second one beside it, --print-check-shops); --print-prover one that
needs no certificate: dpbb verify --print-checker > checker.py"""
    rows = {
        "certificates CERTIFICATE*": "what dpbb solve --certificate wrote",
        "--all": "explore everything that it claims again, unit by unit, whatever the "
        "size",
        "--finer FILE": "explore everything in small parts, and write a certificate of "
        "these: any audit can explore what it draws of it",
        "--scheduler ADDRESS": "with --all or --finer: spread over this cluster",
        "--nodes N": "explore so many again; a tree that fits is explored as a whole "
        "(default: 2,000,000,000; gpu: 50,000,000,000; pool: 20,000,000; reference: "
        "200,000)",
        "--draws K=40": "nodes to draw of larger trees, and a quarter as many by "
        "claimed nodes; their units are explored again (default: 40; 0: only add up)",
        f"--engine {'|'.join(EngineName)}=auto": "what explores them (default: "
        "cpu, or reference for other problems)",
        "--seed SEED": "repeats a draw; it shows nothing if who made the "
        "certificate could know it (default: a random number, which is printed); "
        "digest: a hash of the certificate, with 422 draws at least, as who makes it "
        "can try many",
        "--instance NAME": "the certificate has to be about this instance or file",
        "--print-checker": "print the program of one file",
        "--print-check-shops": "print what it wants of other shops: check_shops.py",
        "--print-prover": "print a program that explores {LB < UB} of an instance by "
        "itself",
    }
    add_rows(parser, rows)
    add_common(parser, "--data", "--json")


def run_verify(args: argparse.Namespace) -> int:
    """Check certificates and show what was found."""
    for name in ("checker", "check_shops", "prover"):
        if getattr(args, f"print_{name}"):
            path = files("dpbb.proof") / f"{name.replace('prover', 'prove')}.py"
            print(path.read_text("utf-8"), end="")
            return 0
    if not args.certificates:
        raise OptionError("certificate: expected the path of a certificate, got none")
    for flag in ("finer", "instance"):
        if getattr(args, flag) and len(args.certificates) > 1:
            expected = "expected one certificate with it"
            raise OptionError(f"--{flag}: {expected}, got {len(args.certificates)}")
    whole = bool(args.all or args.finer)
    if args.scheduler is not None and not whole:
        raise OptionError("scheduler: expected it with the whole tree (--all, --finer)")
    from dpbb.flowshop.family import read_problem
    from dpbb.proof.verify import DIGEST, verify

    for name in ("nodes", "draws"):
        kinds.optional(kinds.whole(0)).check(getattr(args, name), f"--{name}")
    mine = args.instance and read_problem(args.instance, data_dir=args.data)
    seed = args.seed
    if seed not in (None, DIGEST):
        seed = kinds.whole(0).parse(seed, "--seed")
    with ExitStack() as stack:
        elsewhere = None
        which = which_cluster() if args.scheduler is None else None
        address = args.scheduler if which is None else which.address
        if address is not None and whole:
            from dpbb.cluster.client.connect import connect
            from dpbb.cluster.client.verification import explore_on

            if which is not None:
                print(f"cluster {which}", file=sys.stderr)
            client = stack.enter_context(connect(address))
            elsewhere = partial(explore_on, client, args.engine)
        check = partial(
            verify,
            draws=args.draws,
            engine=args.engine,
            seed=seed,
            nodes=args.nodes,
            everything=args.all,
            finer=args.finer,
            elsewhere=elsewhere,
            instance=mine,
            data_dir=args.data,
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
        if len(args.certificates) > 1:
            return _check_each(check, args)
        return _show(check(args.certificates[0]), as_json=args.json)


def _show(found: Verification, *, as_json: bool, path: str | None = None) -> int:
    """Print what was found of a certificate; returns its exit code.

    ``path``: of several certificates its own, which has a line.
    """
    from dpbb.proof.checker import EXIT

    if as_json:
        more = {} if path is None else {"certificate": path}
        print(json_text({**more, **asdict(found), "ok": found.ok}))
    elif path is not None:
        print(found.line(path), flush=True)
    else:
        print(fitted(found.summary()), flush=True)
    return EXIT[found.verdict]


def _check_each(check: Callable[..., Verification], args: argparse.Namespace) -> int:
    """Check one after the other, damaged ones too, and count the verdicts.

    There is a line for each.
    """
    verdicts, codes = Counter[str](), set[int]()
    for path in args.certificates:
        told = partial(print, f"{path}:", file=sys.stderr, flush=True)
        try:
            found = check(path, say=told)
        except (InstanceError, OptionError) as error:
            print(f"dpbb: error: {error}", file=sys.stderr)
            verdicts["no certificate, or damaged"] += 1
            codes.add(DAMAGED)
            continue
        verdicts[found.verdict] += 1
        codes.add(_show(found, as_json=args.json, path=path))
    if not args.json:
        counts = ", ".join(f"{count} {what}" for what, count in verdicts.most_common())
        print(f"{len(args.certificates)} certificates: {counts}")
    return next(code for code in GRAVEST if code in codes)
