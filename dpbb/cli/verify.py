"""``dpbb verify``."""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from importlib.resources import files

from dpbb.cli.arguments import add_common, add_rows
from dpbb.cluster.client.connect import which_cluster
from dpbb.errors import OptionError
from dpbb.options import kinds
from dpbb.text.json_text import json_text


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add the certificate and how to check it."""
    parser.epilog = """\
exit codes: 0 proved again; 1 it does not hold; 2 it is no certificate, or damaged;
3 not checked enough: it says what would help; 4 audited: it says who passes, how often.
--print-checker writes a program of one file, which needs nothing but Python and has
rules, books and draws in common with dpbb, but no engine; --print-prover one that needs
no certificate: dpbb verify --print-checker > checker.py"""
    rows = {
        "certificate CERTIFICATE?": "what dpbb solve --certificate wrote",
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
        "--most-nodes N": "with --finer: of a part (default: as few as there is room "
        "for)",
        "--engine auto|cpu|gpu|pool|reference=auto": "what explores them (default: "
        "cpu, or reference for other problems)",
        "--seed SEED": "repeats a draw; it shows nothing if who made the "
        "certificate could know it (default: a random number, which is printed); "
        "digest: a hash of the certificate, with 422 draws at least, as who makes it "
        "can try many",
        "--instance NAME": "the certificate has to be about this instance or file",
        "--print-checker": "print the program of one file",
        "--print-prover": "print a program that explores {LB < UB} of an instance by "
        "itself",
    }
    add_rows(parser, rows)
    add_common(parser, "--data", "--json")


def run_verify(args: argparse.Namespace) -> int:
    """Check a certificate and show what was found."""
    if args.print_checker or args.print_prover:
        name = "checker.py" if args.print_checker else "prove.py"
        print(files("dpbb.proof").joinpath(name).read_text("utf-8"), end="")
        return 0
    if args.certificate is None:
        raise OptionError("certificate: expected the path of a certificate, got none")
    whole = bool(args.all or args.finer)
    if args.scheduler is not None and not whole:
        raise OptionError("scheduler: expected it with the whole tree (--all, --finer)")
    from dpbb.flowshop.family import read_problem
    from dpbb.proof.checker import EXIT
    from dpbb.proof.verify import DIGEST, verify

    for name in ("nodes", "most_nodes", "draws"):
        flag = "--" + name.replace("_", "-")
        kinds.optional(kinds.whole(0)).check(getattr(args, name), flag)
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
        found = verify(
            args.certificate,
            draws=args.draws,
            engine=args.engine,
            seed=seed,
            nodes=args.nodes,
            most_nodes=args.most_nodes,
            everything=args.all,
            finer=args.finer,
            elsewhere=elsewhere,
            instance=mine,
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
    if args.json:
        print(json_text({**asdict(found), "ok": found.ok}))
    else:
        print(found.summary())
    return EXIT[found.verdict]
