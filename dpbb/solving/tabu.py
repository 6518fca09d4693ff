"""``dpbb.tabu_search``: tabu search by itself."""

from typing import Any

from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.heuristics.tabu.search import (
    DEVICES,
    MOST_GENERATIONS,
    TabuResult,
    make_rules,
    make_starts,
    run_searches,
)
from dpbb.options.kinds import one_of, whole


def tabu_search(
    instance: Any,  # whatever names an instance
    start: Any = None,
    *,
    generations: int = 1000,
    tenure: int | None = None,
    sharing: str | None = None,
    searches: int = 1,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
) -> TabuResult:
    """Improve a schedule by tabu search over exchanges of two jobs.

    Parameters
    ----------
    instance
        An instance of a flow shop, or what ``dpbb.read_instance`` reads.
    start
        A permutation, or one for each search; default: that of NEH. Where there are
        fewer than ``searches``, further ones are the last with some random swaps.
    generations
        Moves of every search.
    tenure
        Generations for which the same two jobs are not exchanged; default: a quarter of
        the jobs, at least 7.
    sharing
        What neighbours share of their parent's columns on a GPU: ``"none"``,
        ``"prefix"`` or ``"both"``; the values are the same. Default: what is fastest:
        nothing for few searches of a small shop, else both.
    searches
        How many, side by side.
    seed
        Of the random swaps of further starts.
    device
        ``"cpu"``, ``"gpu"``, or ``"auto"``: a GPU if there is one. Same trajectories.
    threads
        Of the CPU, a search each; default: all physical cores.

    Raises
    ------
    InstanceError, OptionError
        Bad input; says what was expected and what came.
    EngineUnavailable
        ``device="gpu"`` without one.

    Examples
    --------
    >>> import dpbb
    >>> dpbb.tabu_search([[3, 2], [1, 4], [2, 2]], generations=5, device="cpu").value
    9
    """
    shop = read_instance(instance)
    rules = make_rules(shop, tenure, sharing)
    whole(0, MOST_GENERATIONS).check(generations, "generations")
    whole(1).check(searches, "searches")
    whole(0).check(seed, "seed")
    if threads is not None:
        whole(1).check(threads, "threads")
    one_of(*DEVICES).check(device, "device")
    starts = make_starts(shop, start, searches, seed)
    return run_searches(rules, starts, generations, device, threads)
