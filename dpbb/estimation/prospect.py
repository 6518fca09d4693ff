"""Whether a tree should begin anew with a cascade: asked beside its run.

``dpbb.estimation.cascades`` answers, in a process of its own; nothing of it is imported
here, as that takes as long as a short tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpbb.estimation.background import answer_apart, tree_to_json
from dpbb.options import LB1, TreeOptions
from dpbb.problem import Problem

CLEAR = 0.8
"""Largest part of the time that LB1 takes for what is left of its tree that another
bound may take, both by estimates."""

NICENESS = 16
"""A core that others keep busy gives such a process less than 3 %."""


class Cost(NamedTuple):
    """What cascades cost on an engine.

    Attributes
    ----------
    start_s
        Seconds to load their kernels, as those of LB1 are loaded while a cluster
        starts; compiled they are in a first run.
    node, pair
        What tightening the children of a node takes, in nodes of LB1: whatever the
        pairs, and for each of a few pairs.
    """

    start_s: float
    node: float
    pair: float


COSTS = {"cpu": Cost(1.0, 0.7, 0.35), "gpu": Cost(2.0, 0.3, 0.2)}
"""Engines that are not in here take LB1.

Measured (examples/papers/two-machine-bounds), ta021 to ta027 at the optimum: nodes of
cascades of 2, 3, 5 or 6, and 10 pairs at all depths took 2.3, 2.7, 3.2 to 4.3 and 5
times as long as those of LB1 on 8 threads (AVX-512), and 1.5 to 2.1, 1.8 to 2.4, 2.3 to
2.9 and 2.8 to 3.0 times on an H200.
"""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a tree takes, at least with LB1 and at most with the best cascade.

    Attributes
    ----------
    bound
        The cascade, or LB1 if there is none.
    nodes
        Of the tree with LB1.
    others
        What the tree of the cascade takes, in nodes of LB1.
    start_s
        Seconds until it is explored.
    """

    bound: str
    nodes: float
    others: float
    start_s: float

    @property
    def why(self) -> str:
        """For people."""
        if self.bound == LB1:
            return "there is no pair of machines that prunes"
        times = self.others / max(self.nodes, 1.0)
        part = f"{times:.0%} of" if times < 10 else f"{min(times, 1000):.0f} times"
        more = "" if times <= 1000 else "more than "
        return f"the best cascade may take {more}{part} its time, by estimates"

    def pays(self, explored: int, seconds: float) -> bool:
        """Whether the tree should begin anew with the cascade.

        ``explored``, ``seconds``: nodes so far with LB1, at least one, and the time
        that they took.
        """
        start = self.start_s * explored / seconds
        left = self.nodes - explored
        return self.bound != LB1 and self.others + start < CLEAR * left


def prospect_apart(
    problem: Problem[Any],
    tree: TreeOptions,
    ub: int,
    *,
    engine: str,
    seed: int,
    is_wanted: Callable[[], bool],
) -> Prospect | None:
    """As ``prospect_of``, in a process of its own; None if not wanted any more.

    DpbbError: the process failed; says how.
    """
    values = {**tree_to_json(problem, tree, ub), "engine": engine, "seed": seed}
    request = json.dumps(values).encode()
    out = answer_apart("dpbb.estimation.cascades", NICENESS, request, is_wanted)
    return None if out is None else Prospect(**json.loads(out))
