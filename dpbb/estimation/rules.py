"""The branching rule of a tree of many jobs, by estimates of two."""

from collections.abc import Callable
from statistics import fmean
from typing import Any

from dpbb.errors import OptionError
from dpbb.estimation.result import count
from dpbb.estimation.sampling import Sampler
from dpbb.kernels.cores import physical_cores
from dpbb.options import BranchingRule, SolveOptions
from dpbb.problem import Problem, root_bound
from dpbb.tree.branching import settled_rule, tree_of

SAMPLES, PROBES = 32, 8
"""Nodes kept of a stratum, and independent probes: the seed alone decides."""

MOST_SPAN = 128
"""From the root's bound to the upper bound; of more either estimate takes too long."""

CLEARLY_FEWER = 10
"""So many times as large the default's tree has to be. From 200 jobs on either may be
a million times as large, and estimates are rough. Figures: docs/table.md."""


def chosen_rule(
    problem: Problem[Any],
    options: SolveOptions,
    ub: int,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[BranchingRule, str]:
    """Return the rule of a tree with LB < ub, and why, for people.

    It is the one that is given or the problem's first. Where that is ``maxsum``, it is
    ``minmin`` if that tree is estimated to be far smaller.
    """
    settled = settled_rule(problem, options.branching)
    if settled is not None:
        return settled, ""
    first, other = BranchingRule.MAXSUM, BranchingRule.MINMIN
    if ub - root_bound(problem) > MOST_SPAN:
        return first, ""
    nodes = []
    for rule in (other, first):
        tree = tree_of(problem, options.replace(branching=rule), ub)
        try:
            rounds = Sampler(problem, tree, ub).rounds(
                seconds=0.0,  # as many samples as are asked for, whatever they take
                samples=SAMPLES,
                probes=PROBES,
                threads=options.threads or physical_cores(),
                seed=options.seed,
                should_stop=should_stop,
            )
        except OptionError:  # they do not fit into memory
            return first, ""
        nodes.append(fmean(found.decomposed for found in rounds[-1].found))
    if nodes[0] * CLEARLY_FEWER > nodes[1]:
        return first, ""
    few, many = map(count, nodes)
    return other, f"{other}: about {few} nodes below {ub}, {many} by {first}"
