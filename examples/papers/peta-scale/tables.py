"""One core, all cores, and a GPU on whole trees, beside the largest runs published.

J. Gmys, "Exactly solving hard permutation flowshop scheduling problems on peta-scale
GPU-accelerated supercomputers", INFORMS Journal on Computing 34(5), 2022: Table 1 and
Figure 9. Its Table 2 and Figure 10 are ``dpbb bench multigpu --trees vfr30_15_2
vfr30_15_5 vfr30_15_9``. The exit code is 1 when counts of a tree differ.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable

from dpbb.bench.common import Machine, explored
from dpbb.engines.registry import get_engine
from dpbb.errors import EngineUnavailable
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import Balance, Tuning

TREES = {"ta021": 2297, "ta056": 3666, "ta081": 6115, "ta101": 11156}
"""Upper bounds of the published runs."""


def ways(threads: int | None):
    """One core, all cores, and a GPU, where there is one, with both balances."""
    cpu = get_engine("cpu")
    every = cpu.devices(threads)[0]
    yield "one core", cpu, cpu.devices(1)[0], Tuning()
    yield f"{every.threads} threads", cpu, every, Tuning()
    gpu = get_engine("gpu")
    try:
        device = gpu.devices()[0]
    except EngineUnavailable as error:
        print(f"no GPU to measure: {error}\n")
        return
    for balance in Balance:
        yield f"one GPU, {balance}", gpu, device, Tuning(balance=balance)


def differ(found: Iterable[tuple[str, int]]) -> bool:
    """Whether a whole tree had different numbers of nodes; says which one."""
    counts: dict[str, set[int]] = {}
    for tree, nodes in found:
        counts.setdefault(tree, set()).add(nodes)
    different = {tree: nodes for tree, nodes in counts.items() if len(nodes) > 1}
    for tree, several in different.items():
        print(f"{tree}: different numbers of nodes: {sorted(several)}")
    return bool(different)


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each tree and way; 1 if whole trees have different counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trees", nargs="+", default=[f"{tree}@{ub}" for tree, ub in TREES.items()]
    )
    parser.add_argument("--threads", type=int, default=None, help="default: all cores")
    parser.add_argument("--repeat", type=int, default=3, help="runs of whole trees")
    parser.add_argument(
        "--limit-s", type=float, default=20.0, help="rates of longer runs: of so long"
    )
    args = parser.parse_args(arguments)
    print(f"{Machine()}\n")
    arms = list(ways(args.threads))
    print(
        "| tree | way | nodes | s | M nodes/s | times one core |\n" + "|---" * 6 + "|"
    )
    whole = []
    for tree in args.trees:
        name, _, ub = tree.partition("@")
        problem, one_core = FlowShopProblem(taillard_instance(name)), 0.0
        for how, engine, device, tuning in arms:
            given = engine, device, problem, int(ub), args.limit_s, tuning
            runs = [explored(*given)]
            while runs[-1].over and len(runs) < args.repeat:
                runs.append(explored(*given))
            whole += [(tree, run.nodes) for run in runs if run.over]
            seconds = statistics.median(run.seconds for run in runs)
            rate = runs[0].nodes / seconds
            one_core = one_core or rate
            part = "" if runs[0].over else " (part)"
            print(
                f"| {tree} | {how} | {runs[0].nodes:,}{part} | {seconds:.3g} | "
                f"{rate / 1e6:,.1f} | {rate / one_core:,.1f} |",
                flush=True,
            )
    return int(differ(whole))


if __name__ == "__main__":
    sys.exit(main())
