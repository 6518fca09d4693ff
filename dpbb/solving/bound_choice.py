"""The choice of a bound beside a run: an estimate that nobody waits for."""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import TYPE_CHECKING

from dpbb.errors import DpbbError
from dpbb.estimation.prospect import COSTS, Prospect, prospect_apart
from dpbb.problem import HasBounds
from dpbb.tree.branching import tree_of

if TYPE_CHECKING:
    from dpbb.solving.plan import Plan

logger = logging.getLogger(__name__)


def obstacle(plan: Plan, *, engine: str | None, detached: bool) -> str | None:
    """Return why there is no choice of the bound, None if there is one.

    Parameters
    ----------
    engine
        The engine of an embedded cluster; None: another cluster explores.
    detached
        Nobody stays to begin the tree anew.
    """
    if detached:
        return "nobody stays to begin the tree anew"
    if engine not in COSTS:
        return f"costs of engine {engine or 'there'} are not known"
    if plan.options.node_limit is not None:
        return "a limit of nodes is that of one tree"
    if plan.step is not None:
        return "there may be several trees"
    if plan.upper_bound is None:
        return "an upper bound is not known"
    return None if isinstance(plan.problem, HasBounds) else "there is no other"


class BoundChoice:
    """Estimates beside a run what its tree takes with other bounds.

    ``plan``: of the tree, for which there is no ``obstacle``.

    ``found``: None until the estimate is there.
    """

    def __init__(self, plan: Plan, engine: str) -> None:
        self.found: Prospect | None = None
        self._plan, self._engine = plan, engine
        self._stop = Event()
        self._thread = Thread(target=self._estimate, name="dpbb-bound", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the estimate; blocks until its process is over."""
        self._stop.set()
        self._thread.join()

    def _estimate(self) -> None:
        plan = self._plan
        if plan.upper_bound is None:
            raise ValueError("expected a plan with an upper bound")
        try:
            self.found = prospect_apart(
                plan.problem,
                tree_of(plan.problem, plan.options, plan.branching_ub),
                plan.upper_bound,
                engine=self._engine,
                seed=plan.options.seed,
                is_wanted=lambda: not self._stop.is_set(),
            )
        except (DpbbError, OSError) as error:
            logger.warning("no choice of the bound: %s", error)
