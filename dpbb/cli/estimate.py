"""``dpbb estimate``."""

import argparse

from dpbb.cli.shared import add_ends, add_instance, add_option, flags_given, problem_of
from dpbb.estimation.result import USED_OPTIONS
from dpbb.options import OPTIONS
from dpbb.options.rows import OptionRow

EPILOG = """\
The tree is that of a solve with a schedule of makespan U at hand. What the interval
means, and where it fails, is in docs/estimates.md; a line WARNING says that an estimate
is not to be trusted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the instance, the tree and the effort."""
    add_instance(parser)
    add_ends(parser)
    parser.add_argument(
        "--upper-bound",
        type=int,
        metavar="U",
        help="makespan of a known schedule; default: the best-known one, or else one "
        "that heuristics find first, in seconds",
    )
    parser.add_argument(
        "--seconds", type=float, default=5.0, metavar="X", help="time (default: 5)"
    )
    parser.add_argument(
        "--samples",
        type=int,
        metavar="K",
        help="nodes kept of a stratum, whatever the time; default: by the time",
    )
    parser.add_argument(
        "--probes", type=int, default=8, metavar="N", help="independent ones (8)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    parser.add_argument(
        "--gpus",
        type=int,
        default=1,
        metavar="N",
        help="H100s to give the time for (lb1)",
    )
    group = parser.add_argument_group("options of the tree and of this machine")
    for row in _rows():
        add_option(group, row)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def _rows() -> list[OptionRow]:
    return [OPTIONS[name] for name in USED_OPTIONS]


def run(args: argparse.Namespace) -> int:
    """Estimate and show."""
    from dpbb.estimation.estimating import estimate

    result = estimate(
        problem_of(args),
        upper_bound=args.upper_bound,
        seconds=args.seconds,
        samples=args.samples,
        probes=args.probes,
        seed=args.seed,
        gpus=args.gpus,
        **flags_given(args, _rows()),
    )
    print(result.to_json() if args.json else result.summary())
    return 0
