"""Runs on which everything goes wrong: kills, restarts, drains, joins, a bad network.

Every run explores a tree of known size on a real cluster (``arena.py``) and has
to end with the optimum, exactly; and where the UB is fixed, because the run starts with
an optimal schedule, with the exact number of nodes. The exit code is 1 otherwise.
Each run has a seed of its own, which is printed: ``--seed S --runs 1`` repeats its
faults, though not to the millisecond.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from dpbb.cluster.client.open import submit_run
from dpbb.coordination.messages import RunId, RunSpec
from dpbb.errors import DpbbError, OptionError
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import RunOptions, TreeOptions
from dpbb.text.json_text import json_text
from tests.worlds.faults.arena import Arena, Weather

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from dpbb.coordination.outcome import Outcome

PATIENCE_S = 120.0
"""A run that has not ended so long after its last fault hangs."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree {LB < optimum} and the numbers of its nodes.

    From the table of trees that was counted by a program that shares no code with dpbb
    (LB1, MinMin, prune LB >= UB, root order by index).
    """

    instance: str
    optimum: int
    decomposed: int
    leaves: int
    engine: str


TREES = (
    Tree("ta014", 1377, 16_114, 13, "reference"),
    Tree("ta005", 1235, 11_949, 256, "reference"),
    Tree("ta029", 2237, 13_440_016, 84, "cpu"),
)
"""About a second each: the fast engine needs a larger one."""


@dataclass(slots=True)
class Record:
    """What happened in one run; ``wrong`` says what was not as it has to be."""

    seed: int
    tree: str
    engine: str
    fixed_ub: bool
    seconds: float = 0.0
    requeues: int = 0
    units: int = 0
    mistreated: int = 0
    faults: list[str] = field(default_factory=list)
    wrong: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--runs", type=int, default=20, help="how many (default 20)")
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--json", type=Path, default=None, help="also write this file")


def run(args: argparse.Namespace) -> int:
    """Run the campaign; returns 0 if every run ended as it has to."""
    if args.runs < 1:
        raise OptionError(f"--runs: expected at least 1, got {args.runs}")
    began = time.monotonic()
    records = campaign(range(args.seed, args.seed + args.runs), show=_show)
    wrong = [record for record in records if record.wrong is not None]
    faults = Counter(kind for record in records for kind in record.faults)
    print(
        f"{len(records)} runs in {time.monotonic() - began:.0f} s, {len(wrong)} wrong; "
        f"{sum(r.fixed_ub for r in records)} at a fixed UB; "
        f"{sum(r.requeues for r in records)} leases lost, "
        f"{sum(r.mistreated for r in records)} messages mistreated"
    )
    print(", ".join(f"{kind} {number}" for kind, number in sorted(faults.items())))
    if args.json is not None:
        args.json.write_text(json_text([asdict(record) for record in records]))
    return int(bool(wrong))


def campaign(
    seeds: Sequence[int],
    *,
    trees: Sequence[Tree] = TREES,
    show: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Run one run a seed, all on one cluster.

    Parameters
    ----------
    seeds
        Of the runs.
    trees
        To choose from.
    show
        Called after every run.
    """
    return asyncio.run(_campaign(seeds, trees, show))


async def _campaign(
    seeds: Sequence[int], trees: Sequence[Tree], show: Callable[[Record], None]
) -> list[Record]:
    records = []
    async with Arena.opened() as arena:
        schedules = {tree: await _optimal(arena, tree) for tree in trees}
        arena.spoil_network()
        for seed in seeds:
            rng = random.Random(seed)  # noqa: S311 - no secret
            tree = rng.choice(trees)
            fixed = rng.random() < 0.7
            record = Record(seed, tree.instance, tree.engine, fixed)
            await _one(arena, rng, tree, schedules[tree] if fixed else None, record)
            show(record)
            records.append(record)
            await arena.repair()
    return records


def _spec(tree: Tree, **options: Any) -> RunSpec:
    return RunSpec(
        run_id=RunId(uuid4().hex[:12]),
        problem=FlowShopProblem(taillard_instance(tree.instance)), tree=TreeOptions(),
        instance=tree.instance, **options,
    )  # fmt: skip


async def _optimal(arena: Arena, tree: Tree) -> tuple[int, ...]:
    """Find an optimal schedule in peace; the fast engine is compiled by the way."""
    spec = _spec(tree, engine="cpu", upper_bound=tree.optimum + 1)
    outcome = await _outcome(arena, spec)
    if outcome.value != tree.optimum or outcome.permutation is None:
        raise DpbbError(
            f"{tree.instance}: expected {tree.optimum} without faults, "
            f"got {outcome.value}"
        )
    return outcome.permutation


async def _outcome(arena: Arena, spec: RunSpec) -> Outcome:
    opened = await submit_run(arena.client, spec)
    try:
        outcome: Outcome = await opened.outcome(PATIENCE_S)
    finally:
        await opened.close()
    return outcome


async def _one(
    arena: Arena,
    rng: random.Random,
    tree: Tree,
    schedule: tuple[int, ...] | None,
    record: Record,
) -> None:
    """Run under faults, and compare."""
    network = arena.network
    assert network is not None  # noqa: S101 - the campaign has just made it
    spec = _spec(
        tree,
        engine=tree.engine,
        permutation=schedule,
        upper_bound=tree.optimum + 1 if schedule is None else None,
        options=RunOptions(
            report_interval_s=rng.choice((0.05, 0.2, 1.0)),
            checkpoint_interval_s=rng.choice((0.1, 0.5, 30.0)),
        ),
        lease_timeout_s=rng.choice((1.0, 3.0, 60.0)),
    )
    before = network.n_mistreated
    network.set(Weather.drawn(rng), record.seed)
    began = time.monotonic()
    opened = await submit_run(arena.client, spec)
    try:
        await arena.storm(rng, spec.run_id, record.faults)
        await arena.repair()
        outcome = await opened.outcome(PATIENCE_S)
        record.requeues, record.units = outcome.totals.requeues, outcome.totals.units
        record.wrong = _what_is_wrong(spec, tree, outcome, fixed=schedule is not None)
    except TimeoutError:
        record.wrong = f"not over {PATIENCE_S:.0f} s after the last fault"
    except DpbbError as error:
        record.wrong = f"{type(error).__name__}: {error}"
    finally:
        network.set(None)
        record.mistreated = network.n_mistreated - before
        record.seconds = time.monotonic() - began
        await opened.close()


def _what_is_wrong(
    spec: RunSpec, tree: Tree, outcome: Outcome, *, fixed: bool
) -> str | None:
    if not outcome.exhausted or outcome.error is not None:
        return f"not exhausted: {outcome.error or outcome.termination}"
    if outcome.value != tree.optimum or outcome.permutation is None:
        return f"expected the optimum {tree.optimum}, got {outcome.value}"
    value = spec.problem.evaluate(np.array(outcome.permutation))
    if value != tree.optimum:
        return f"a schedule of {value} for an optimum of {tree.optimum}"
    counts = outcome.counters.decomposed, outcome.counters.leaves
    if fixed and counts != (tree.decomposed, tree.leaves):
        return f"expected {tree.decomposed, tree.leaves} nodes, got {counts}"
    return None


def _show(record: Record) -> None:
    state = "ok" if record.wrong is None else f"WRONG: {record.wrong}"
    ub = "fixed" if record.fixed_ub else "open"
    print(
        f"seed {record.seed}: {record.tree} {record.engine}, UB {ub}, "
        f"{record.seconds:.1f} s, {record.units} units, {record.requeues} lost, "
        f"{record.mistreated} messages; {', '.join(record.faults)}: {state}",
        flush=True,
    )
