"""What a run says of its end after a fifth of its time, against what came.

    python -m tests.bench.progress --data FOLDER
    python -m tests.bench.progress --instances ta021 ta053

Trees of half a minute and more on two cores: shops at given upper bounds, of other
objectives too, and from nothing. A row has the seconds that the tree took; when the
first estimate came; the seconds that were left after a fifth, and were said to be left
then; the factor between these two, in seconds and in nodes; and how many of all ranges
had the truth. The exit code is 1 when fewer than three of four are within a factor 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import dpbb
from dpbb.bench.common import Machine
from dpbb.flowshop.shop import FlowShop, ObjectiveName
from dpbb.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpbb.coordination.snapshot import Snapshot

FACTOR, GOOD = 2.0, 0.75
PART, LIMIT_S = 0.2, 900.0


class Tree(NamedTuple):
    """A shop and its cutoff; None: it is solved from nothing."""

    instance: str
    cutoff: int | None = None
    objective: ObjectiveName = "makespan"


TREES = (
    Tree("ta023", 2312),
    Tree("ta023"),
    Tree("ta052", 3671),
    Tree("ta053", 3600),
    Tree("ta058", 3639),
    Tree("ta081", 6115),
    Tree("VFR20_10_1", 1532),
    Tree("VFR20_20_1", 2259),
    Tree("VFR20_20_1", 2270),
    Tree("VFR20_20_6", 2276),
    Tree("VFR20_20_6", 2291),
    Tree("VFR30_15_6", 2284),
    Tree("VFR40_15_1", 2992),
    Tree("VFR40_15_1", 2998),
    Tree("VFR40_15_6", 2793),
    Tree("VFR50_15_6", 3322),
    Tree("VFR50_15_6", 3330),
    Tree("VFR60_20_1", 4080),
    Tree("ta021", 33463, "total-completion"),
    Tree("ta025", 34557, "total-completion"),
)


class Watch(Progress):
    """Keeps the snapshots of a run."""

    def __init__(self) -> None:
        self.seen: list[Snapshot] = []

    def update(self, snapshot: Snapshot) -> None:
        """Keep it."""
        self.seen.append(snapshot)


def row(tree: Tree, data: Path | None) -> tuple[str, float | None]:
    """Solve a tree; return its row, and the factor."""
    shop: Any = dpbb.read_instance(tree.instance, data_dir=data)
    if tree.objective != "makespan":
        shop = FlowShop(shop, objective=tree.objective)
    watch = Watch()
    result = dpbb.solve(
        shop, cutoff=tree.cutoff, progress=watch, engine="cpu", time_limit_s=LIMIT_S
    )
    end = watch.seen[-1]
    said = {
        one.seconds: (one.left.seconds, one.left.nodes[1])
        for one in watch.seen
        if one.left is not None and one.left.seconds is not None
    }
    inside = sum(
        low <= end.seconds - at <= high for at, ((low, _, high), _) in said.items()
    )
    at = next(one for one in watch.seen if one.seconds >= PART * end.seconds)
    truth = end.seconds - at.seconds
    name = f"{tree.instance} {tree.cutoff or ''} {tree.objective}"
    if not end.exhausted:
        return f"| {name} | is no tree of less than {LIMIT_S:g} s |", None
    first = f"{min(said):.1f}" if said else "-"
    cells = f"{name} | {result.nodes:.2e} | {end.seconds:.1f} | {first} | {truth:.1f}"
    factor, text = None, "no useful estimate | |"
    if at.seconds in said:
        (low, middle, high), nodes = said[at.seconds]
        factor, of_nodes = middle / truth, nodes / (end.nodes - at.nodes)
        text = f"{middle:.1f} ({low:.1f} to {high:.1f}) | {factor:.2f} | {of_nodes:.2f}"
    return f"| {cells} | {text} | {inside} of {len(said)} |", factor


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each tree; 1 if they are not as good as the module says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--data", metavar="FOLDER", default=os.environ.get("DPBB_DATA"))
    args = parser.parse_args(arguments)
    data = None if args.data is None else Path(args.data)
    print(f"{Machine()}\n")
    head = "tree | nodes | s | first at | left at 1/5 | said | factor | of nodes"
    print(f"| {head} | inside |")
    print("|---" * 9 + "|")
    factors = []
    for tree in TREES:
        if args.instances and tree.instance not in args.instances:
            continue
        if tree.instance.startswith("VFR") and data is None:
            continue
        text, factor = row(tree, data)
        print(text, flush=True)
        factors.append(factor)
    near = [one for one in factors if one and 1 / FACTOR <= one <= FACTOR]
    print(f"\n{len(near)} of {len(factors)} within a factor {FACTOR:g}")
    return int(len(near) < GOOD * len(factors))


if __name__ == "__main__":
    sys.exit(main())
