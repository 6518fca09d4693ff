"""``dpbb.estimate``: how many nodes a tree has, before it is explored."""

import time
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError
from dpbb.estimation.rates import Rate, RateUnknown, h100_rate, measured_rate
from dpbb.estimation.result import (
    MANY_JOBS,
    MOST_NODES,
    ONLY_LEAST,
    USED_OPTIONS,
    Estimate,
)
from dpbb.flowshop.family import read_problem
from dpbb.heuristics import heuristics_of
from dpbb.options import LB1, SolveOptions, TreeOptions, kinds, naming
from dpbb.options.derived import EstimateKeywords
from dpbb.problem import (
    Problem,
    StartSearch,
    best_known_of,
    instance_name_of,
    n_machines_of,
    objective_of,
    with_bound,
    with_ends,
)
from dpbb.tree.branching import tree_of

SECONDS = 5.0
"""Default time of an estimate."""

PROBES = 8
"""Independent ones; their spread gives the interval."""

HEURISTICS_S = 10.0
"""Seconds for an upper bound of many jobs, where none is known."""


@naming(USED_OPTIONS)
def estimate(
    instance: Any,  # names, paths, tables, instances, problems
    *,
    front: Iterable[Any] = (),
    back: Iterable[Any] = (),
    upper_bound: int | None = None,
    seconds: float = SECONDS,
    samples: int | None = None,
    seed: int = 0,
    gpus: int = 1,
    measure: bool = True,
    should_stop: Callable[[], bool] = lambda: False,
    **options: Unpack[EstimateKeywords],
) -> Estimate:
    """Estimate how many nodes a solve explores with a known upper bound, and how long.

    Parameters
    ----------
    instance, front, back
        As in ``solve``.
    upper_bound
        Nodes with LB >= upper_bound are pruned. Default: the best-known cost of the
        instance, else that of a schedule which the start heuristics find, in seconds.
    seconds
        Time for the sampling. A few more go into the first call on a machine, which
        compiles, half a second into the rate of this machine, and, of many jobs
        without a branching rule, some into both that may be taken.
    samples
        Nodes kept of a stratum. Default: as many as there is time for. With a number,
        ``seconds`` is not looked at and the estimate depends on the seed alone.
    seed
        Of the random numbers.
    gpus
        Number of H100s to give the time for; that of trees with LB1 is known.
    measure
        Measure the rate of this machine.
    should_stop
        Polled between rounds of probes.
    **options
        Those of ``SolveOptions`` that change the tree (branching, bound, all_optima,
        and branching_ub and root_order of tuning), and engine and threads.

    Returns
    -------
    Estimate

    Raises
    ------
    InstanceError, OptionError
        Bad input.
    EngineUnavailable
        The engine whose rate is to be measured cannot run here.

    Notes
    -----
    A solve that still looks for its best schedule explores more: nodes with bounds
    from this value up to the one it starts with.
    """
    chosen = _tree_options({**options})
    seconds = kinds.number(above=0).check(seconds, "seconds")
    samples = kinds.optional(kinds.whole(1)).check(samples, "samples")
    seed = kinds.whole(0).check(seed, "seed")
    gpus = kinds.whole(1).check(gpus, "gpus")
    kinds.flag().check(measure, "measure")
    kinds.FUNCTION.check(should_stop, "should_stop")
    problem = with_bound(with_ends(read_problem(instance), front, back), chosen.bound)
    ub, source = _upper_bound(problem, upper_bound, chosen, should_stop)
    prune_at = ub + chosen.all_optima

    from dpbb.estimation.confidence import doubts, interval
    from dpbb.estimation.sampling import Sampler, chosen_rule
    from dpbb.kernels.cores import physical_cores

    threads = chosen.threads or physical_cores()
    rule, _ = chosen_rule(problem, chosen, prune_at, should_stop)
    tree = tree_of(problem, chosen.replace(branching=rule), ub)
    rounds = Sampler(problem, tree, prune_at).rounds(
        seconds=seconds,
        samples=samples,
        probes=PROBES,
        threads=threads,
        seed=seed,
        should_stop=should_stop,
    )
    here, unknown = None, ""
    if measure:
        engine = str(chosen.engine)
        try:
            here = measured_rate(
                problem, tree, prune_at, engine=engine, threads=chosen.threads
            )
        except RateUnknown as error:
            unknown = str(error)
    last = rounds[-1]
    low, high = interval(rounds)
    reasons = doubts(rounds)
    if problem.n_jobs >= MANY_JOBS and not last.exact:
        reasons += (ONLY_LEAST,)
    return Estimate(
        instance=instance_name_of(problem),
        digest=problem.digest,
        n_jobs=problem.n_jobs,
        n_machines=n_machines_of(problem),
        upper_bound=ub,
        branching=str(tree.branching),
        all_optima=chosen.all_optima,
        decomposed=_mean(one.decomposed for one in last.found),
        leaves=_mean(one.leaves for one in last.found),
        low=low,
        high=high,
        exact=last.exact,
        by_upper_bound=last.by_ub,
        reasons=reasons,
        samples=last.samples,
        probes=PROBES,
        visited=sum(one.visited for some in rounds for one in some.found),
        took_s=sum(some.seconds for some in rounds),
        seed=seed,
        here=here,
        unknown=unknown,
        elsewhere=_elsewhere(problem, tree, gpus),
        source=source,
    )


def _mean(nodes: Iterable[float]) -> float:
    every = list(nodes)
    return min(sum(every) / len(every), MOST_NODES)


def _tree_options(options: dict[str, Any]) -> SolveOptions:
    for name in options:
        if name not in USED_OPTIONS:
            raise OptionError(
                f"{name}: expected one of {', '.join(USED_OPTIONS)}, as nothing else "
                "changes an estimate"
            )
    return SolveOptions().replace(**options)


def _upper_bound(
    problem: Problem[Any],
    given: int | None,
    chosen: SolveOptions,
    should_stop: Callable[[], bool],
) -> tuple[int, str]:
    """Return the upper bound, and where it comes from if it was not given."""
    if given is not None:
        return int(kinds.whole(0).check(given, "upper_bound")), ""
    known = best_known_of(problem)
    if known is not None:
        return known.upper_bound, "the best known"
    began = time.monotonic()
    many = problem.n_jobs >= MANY_JOBS
    search = StartSearch(
        time_limit_s=HEURISTICS_S if many else None,
        threads=chosen.threads,
        should_stop=should_stop,
    )
    found = heuristics_of(problem).first_incumbent(search)
    if found is None:
        raise OptionError(
            f"upper_bound: expected the {objective_of(problem)} of a known schedule, "
            f"got none, and heuristics found none of {instance_name_of(problem)}"
        )
    return found.value, f"by {found.source} in {time.monotonic() - began:.1f} s"


def _elsewhere(problem: Problem[Any], tree: TreeOptions, gpus: int) -> tuple[Rate, ...]:
    """Rates of other devices, of problems that GPUs take; measured ones, of LB1."""
    if tree.bound != LB1 or get_engine("gpu").supports(problem, tree) is not None:
        return ()
    return (h100_rate(problem.n_jobs, n_machines_of(problem), gpus),)
