"""Heuristics beside the tree: in one thread, or in several that work together."""

import time

from dpbb.flowshop.heuristics.first import first_incumbent
from dpbb.flowshop.heuristics.loading import loaded
from dpbb.flowshop.heuristics.search import HEURISTICS, Search, path_of
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.options import Heuristics
from dpbb.options.kinds import one_of
from dpbb.problem import Beginning, BesideSearch, Incumbent, StartSearch


def improve_beside(
    instance: FlowShopInstance,
    method: str,
    beginning: Beginning,
    limits: BesideSearch,
    given: tuple[int, int] = (0, 0),
) -> Incumbent:
    """Improve a schedule beside the tree.

    See ``dpbb.problem.ImprovesBeside``.

    ``given``: so many jobs at the front and the back stay where they are in any case.

    OptionError: no such method, or one that does not run beside the tree.
    """
    if method == Heuristics.AUTO:
        wanted = StartSearch(
            time_limit_s=max(0.0, limits.deadline - time.monotonic()),
            threads=limits.threads,
            seed=limits.seed,
            initial=beginning.permutation.tolist(),
            lower_bound=limits.lower_bound,
            on_improvement=limits.on_improvement,
            should_stop=limits.should_stop,
        )
        found = first_incumbent(instance, wanted, given)
        if found is not None:
            return found
        return Incumbent(beginning.value, beginning.permutation, "start")
    beside = [name for name, other in HEURISTICS.items() if other.beside]
    one_of(*beside).check(method, "method")
    proved = beginning.value <= limits.lower_bound
    start = Incumbent(beginning.value, beginning.permutation, "start", proved)
    first, last = beginning.kept
    search = Search(
        instance,
        lower_bound=limits.lower_bound,
        deadline=limits.deadline,
        seed=limits.seed,
        kept=(given[0] + first, given[1] + last),
        on_improvement=limits.on_improvement,
        should_stop=limits.should_stop,
    )
    heuristic = loaded(path_of(method, "cpu"), search, start)
    return start if proved or search.over else heuristic(search, start)
