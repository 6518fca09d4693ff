"""Exploring parts of a tree again on a cluster, as plain tasks of Dask's.

Small parts go together, large ones are split: counts of disjoint roots add up. A worker
that dies costs its tasks, which Dask repeats.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from distributed import Client, KilledWorker, as_completed

from dpbb.cluster.versions import check_versions, versions
from dpbb.cluster.worker.verification import explore_again
from dpbb.errors import ClusterError
from dpbb.options import TreeOptions
from dpbb.problem import Problem
from dpbb.proof.exploring import Found, Task
from dpbb.proof.walking import expanded

SMALL = 20_000_000
"""Parts of fewer nodes, as claimed, go together until they have so many."""

MOST_TOGETHER = 500
"""Parts that go together at most."""

PIECES = 16
"""All larger parts become so many pieces for each thread of the cluster, by their
nodes, or fewer of ``SMALL`` nodes."""

ANSWER_S = 60.0
"""A worker has so long to say which dpbb it has."""

STAY = "expected the cluster to stay until everything is explored again"


def explore_on(
    client: Client,
    engine: str,
    problem: Problem[Any],
    tree: TreeOptions,
    all_optima: bool,
    tasks: Sequence[Task],
) -> Iterator[tuple[int, Found]]:
    """Explore tasks; yields the number of each and what was found, as they end.

    Parameters
    ----------
    client
        Of the cluster; its workers need the same dpbb.
    engine
        As for ``solve``; ``"auto"``: the best that a worker has.

    Raises
    ------
    ClusterError
        There is no worker, or it does not answer, or has another dpbb; the cluster
        ended, somebody cancelled the tasks, or workers died of one again and again.
    EngineUnavailable
        A worker cannot run the engine.
    """
    threads = sum(_checked(client).values())
    share = PIECES * threads / max(1, sum(task.most for task in tasks))
    pieces = [_pieces(problem, tree, task, int(share * task.most)) for task in tasks]
    futures = [
        client.submit(
            explore_again, problem, tree, all_optima, engine, batch, pure=False
        )
        for batch in _batches(pieces)
    ]
    sums, left, told = [Found()] * len(tasks), [*map(len, pieces)], set()
    try:
        for future, answers in as_completed(
            futures, with_results=True, loop=client.loop
        ):
            if future.cancelled():
                raise ClusterError(f"{STAY}, got {future.key} cancelled")
            for number, part in answers:
                sums[number] = sums[number].plus(part)
                left[number] -= 1
                # more than wanted: what the others would find changes nothing
                enough = sums[number].nodes > tasks[number].most
                if (enough or not left[number]) and number not in told:
                    told.add(number)
                    yield number, sums[number]
            if len(told) == len(tasks):
                return
    except KilledWorker as error:
        raise ClusterError(f"{STAY}: {error}") from error
    finally:
        client.cancel(futures)


def _checked(client: Client) -> dict[str, int]:
    """Return the threads of every worker, all of which have the same dpbb."""
    threads: dict[str, int] = client.nthreads()
    if not threads:
        raise ClusterError("expected a cluster with workers, got one without")

    async def ask() -> Any:
        return await asyncio.wait_for(client.run(versions), ANSWER_S)

    try:
        found = client.sync(ask)
    except TimeoutError as error:
        raise ClusterError(
            f"expected every worker to answer within {ANSWER_S:g} s, got not all "
            f"of {len(threads)}"
        ) from error
    for address, one in found.items():
        check_versions(one, f"the worker {address}")
    return threads


def _batches(pieces: list[list[Task]]) -> Iterator[list[tuple[int, Task]]]:
    """Put small parts together, each piece of a large one alone."""
    together: list[tuple[int, Task]] = []
    nodes = 0
    for number, parts in enumerate(pieces):
        if len(parts) > 1:
            yield from ([(number, part)] for part in parts)
            continue
        together.append((number, parts[0]))
        nodes += parts[0].most
        if nodes >= SMALL or len(together) == MOST_TOGETHER:
            yield together
            together, nodes = [], 0
    if together:
        yield together


def _pieces(
    problem: Problem[Any], tree: TreeOptions, task: Task, most: int
) -> list[Task]:
    """Split what is large into tasks of about as many roots each."""
    wanted = min(most, task.most // SMALL)
    if wanted <= 1:
        return [task]
    roots = task.roots
    if len(roots) < 4 * wanted:
        roots = expanded(problem, tree, roots, task.ub, 4 * wanted)
    parts = min(wanted, len(roots))
    some = (roots.take(slice(first, None, parts)) for first in range(parts))
    return [replace(task, roots=one) for one in some]
