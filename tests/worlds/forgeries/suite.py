# mypy: ignore-errors
"""Two forged certificates of large trees: the work they save, and their verdicts.

*Invented*, of ta056 at 3679: the forger explores what estimates say is small, until he
has so many nodes, and puts all else into one unit with counts that he makes up.

*Fallen*, of ta057 at 3668: he explores nothing. Every unit claims 1.6 times its
estimate, and says that its bound fell, from above all schedules: then fewer nodes are
found again than were claimed.

Both have books that add up. They are audited with a budget below what they claim, so
that no audit explores the whole tree.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from dpbb.engines.base import Device
from dpbb.engines.registry import get_engine
from dpbb.estimation.roots import RootSample
from dpbb.estimation.sampling import Sampler
from dpbb.flowshop.family import read_problem
from dpbb.options import TreeOptions
from dpbb.problems import encoded
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.exploring import Explorer, Task, side_by_side
from dpbb.proof.verify import verify
from dpbb.proof.walking import Growing, trailing_zeros
from dpbb.tree.work_unit import WorkUnit
from tests.unit.proof.conftest import pairs
from tests.unit.proof.test_forgeries import invented, nodes_of, summed

Forgery = tuple[str, dict[str, Any], int, float]
"""Name, certificate, nodes explored, and about how many the tree has."""

DEPTH = 3
"""The forger cuts the tree into its nodes of this depth."""

SAMPLES, BATCH = 64, 64
"""Nodes of a stratum that his estimates keep; roots that are estimated together."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add how much he explores and claims, and how much an audit may explore."""
    parser.add_argument("--explored", type=int, default=80_000_000)
    parser.add_argument("--claimed", type=int, default=64_000_000)
    parser.add_argument("--share", type=float, default=0.9, help="of the claim")


def run(args: argparse.Namespace) -> int:
    """Make both, and show what each gets; returns 0 unless one is audited."""
    verdicts = []
    for make in (invented_unit, fallen_bounds):
        name, content, explored, about = make(args)
        claimed = sum(map(nodes_of, content["units"]))
        print(
            f"{name}: {len(content['units'])} units; {explored:,} nodes explored, "
            f"{claimed:,} claimed, about {about:.3g} in the tree"
        )
        nodes = int(args.share * claimed)
        found = verify(Certificate(content), nodes=nodes)
        print(f"  dpbb verify: {found.verdict}: {found.checks[-1].found[:300]}")
        verdicts.append(found.verdict)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "forged.json.gz")
            Certificate(content).write(path)
            program = [sys.executable, checker.__file__, str(path)]
            ended = subprocess.run(  # noqa: S603
                [*program, "--nodes", str(nodes)], capture_output=True, text=True
            )
        print(f"  checker.py:  {ended.stdout.splitlines()[-1][:300]}", flush=True)
        verdicts.append(ended.stdout.splitlines()[-1].partition(":")[0])
    return int(checker.AUDITED in verdicts or checker.PROVED in verdicts)


class Forger:
    """A tree that is cut into the nodes of a depth, which are estimated.

    Attributes
    ----------
    content
        A certificate that nothing is below the upper bound, with one unit so far, which
        has all that is pruned above these nodes.
    paths, sizes
        These nodes, and their estimates.
    """

    def __init__(self, name: str, ub: int) -> None:
        self.problem, self.tree, self.ub = read_problem(name), TreeOptions(), ub
        growing = Growing(self.problem, self.tree, ub)
        nodes = growing.walked([()])
        for _ in range(DEPTH):
            nodes = [child for node in nodes for child in growing.children(node)]
        self.paths = sorted(node.path for node in nodes)
        sampler, sizes = Sampler(self.problem, self.tree, ub), []
        for first in range(0, len(self.paths), BATCH):
            unit = WorkUnit.from_paths(
                self.problem.n_jobs, self.paths[first : first + BATCH]
            )
            seed = np.random.SeedSequence(first)
            sizes.append(sampler.each(RootSample.of(unit), SAMPLES, seed))
        self.sizes = np.concatenate(sizes)
        closed = checker.Counter(map(len, growing.pruned))
        above = sum(map(trailing_zeros, growing.pruned))
        claim = {"status": "infeasible_cutoff", "makespan": None, "permutation": None}
        n_jobs, top = self.problem.n_jobs, self.problem.trivial_ub
        self.content = {
            "format": checker.FORMAT,
            "schema": checker.SCHEMA,
            "instance": {"name": name, **encoded(self.problem)},
            "tree": self.tree.to_json() | {"n_jobs": n_jobs, "trivial_ub": top},
            "result": claim | {"lower_bound": ub, "ub": ub, "all_optima": False},
            "bounds": [[ub, []]],
            "units": [[[[]], above, 0, pairs(closed), [ub, ub]]],
        }

    def unit(self, paths: list[Any], nodes: int) -> list[Any]:
        """Return a unit with made-up counts of about so many nodes."""
        row = [[list(path) for path in paths], 0, 0, [], [self.ub, self.ub]]
        invented(self.content, row, nodes)
        return row


def invented_unit(args: argparse.Namespace) -> Forgery:
    """Explore what is small, and claim the rest as one unit."""
    forger = Forger("ta056", 3679)
    order = np.argsort(forger.sizes, kind="stable")
    few = int(np.searchsorted(forger.sizes[order].cumsum(), args.explored))
    small = [forger.paths[at] for at in sorted(order[:few])]
    n_jobs, engine = forger.problem.n_jobs, get_engine("cpu")
    groups = [small[first : first + BATCH] for first in range(0, len(small), BATCH)]
    tasks = [Task(WorkUnit.from_paths(n_jobs, g), forger.ub, 2**62) for g in groups]
    devices = engine.devices() or [Device("cpu", "forger")]
    about = forger.problem, forger.tree, False, engine
    explorers = [Explorer(*about, device) for device in devices]
    explored = 0
    for at, found in side_by_side(explorers, tasks):
        counts = found.decomposed, found.leaves, pairs(found.closed)
        roots = [list(path) for path in groups[at]]
        forger.content["units"].append([roots, *counts, [forger.ub, forger.ub]])
        explored += found.nodes
    for explorer in explorers:
        explorer.close()
    left = [forger.paths[at] for at in sorted(order[few:])]
    forger.content["units"].append(forger.unit(left, args.claimed))
    return "invented", summed(forger.content), explored, forger.sizes.sum()


def fallen_bounds(args: argparse.Namespace) -> Forgery:
    """Explore nothing, and claim 1.6 times the estimates, at bounds that fell."""
    forger = Forger("ta057", 3668)
    top = forger.content["tree"]["trivial_ub"]
    for path, size in zip(forger.paths, forger.sizes, strict=True):
        forger.content["units"].append(forger.unit([path], int(1.6 * size)))
    for row in forger.content["units"]:
        row[4] = [top, forger.ub]
    forger.content["bounds"] = [[top, []], [forger.ub, []]]
    return "fallen", summed(forger.content), 0, forger.sizes.sum()
