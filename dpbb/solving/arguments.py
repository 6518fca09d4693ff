"""What is given to ``solve``, ``submit``, ``resume`` and ``heuristic``: checked."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpbb.cluster.client.connect import placed
from dpbb.cluster.storage.checkpoint_folder import check_folder
from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop.family import read_problem
from dpbb.heuristics import heuristics_of
from dpbb.options import Heuristics, ProgressStyle, SolveOptions, Verbosity, kinds
from dpbb.options.permutations import check_permutation
from dpbb.problem import (
    Encodable,
    Problem,
    check_numbers,
    cost_of,
    instance_name_of,
    part_of,
    whole_of,
    with_bound,
    with_ends,
)
from dpbb.problems import decoded, decoder_of, encoded, holds_problem
from dpbb.progress import Progress, make_progress
from dpbb.proof import checker
from dpbb.solving.plan import Plan
from dpbb.text.files import check_writable, noting
from dpbb.text.labels import NO_NAMES, names_of
from dpbb.tree.branching import refusal, settled_rule, tree_of


@dataclass(frozen=True, slots=True)
class Call:
    """How a call asks, and where it is explored; what is asked for is a ``Plan``.

    Attributes
    ----------
    options
        As they are given; a plan has them as they fit its problem.
    began
        ``time.monotonic()`` at its start.
    client
        A client to explore with; None: the options say where.
    where
        Why there, for people; empty where the call says it.
    detached
        Nobody stays until the end of the run.
    heuristic
        A function in the place of the heuristics before the tree, if one is given.
    interrupted
        Whether somebody has pressed Ctrl-C.
    """

    options: SolveOptions
    progress: Progress
    should_stop: Callable[[], bool]
    began: float
    client: Any = None
    where: str = ""
    detached: bool = False
    heuristic: Callable[..., Any] | None = None
    interrupted: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        kinds.FUNCTION.check(self.should_stop, "should_stop")

    @contextmanager
    def interruptible(self) -> Iterator[Call]:
        """Give the call that the first Ctrl-C in this block ends, with a result.

        In another thread, or where somebody else handles Ctrl-C, nothing is changed.
        The second Ctrl-C is Python's own.
        """
        pressed = False

        def on_signal(number: int, frame: Any) -> None:
            nonlocal pressed
            if pressed:
                signal.default_int_handler(number, frame)
            pressed = True
            self.progress.alert("dpbb: stopping; Ctrl-C again quits without a result")

        in_main = threading.current_thread() is threading.main_thread()
        default = signal.default_int_handler
        if not in_main or signal.getsignal(signal.SIGINT) != default:
            yield self
            return
        signal.signal(signal.SIGINT, on_signal)
        try:
            yield replace(
                self,
                interrupted=lambda: pressed,
                should_stop=lambda: pressed or self.should_stop(),
            )
        finally:
            signal.signal(signal.SIGINT, default)

    @property
    def in_process(self) -> bool:
        """Whether this process explores, without a cluster."""
        return self.options.workers == 0

    @property
    def has_own_cluster(self) -> bool:
        """Whether a cluster is started for it, and closed at its end."""
        given = self.client is not None or self.options.scheduler is not None
        return not given and not self.in_process

    @property
    def blocks(self) -> bool:
        """Whether calls block; else they are awaited, as the client is asynchronous."""
        return self.client is None or not self.client.asynchronous

    async def value(self, called: Any) -> Any:
        """Return what a client's method gives, awaited if it is asynchronous."""
        return called if self.blocks else await called


def called(
    client: Any,
    options: SolveOptions | None,
    changes: dict[str, Any],
    progress: Progress | str | None,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    detached: bool = False,
) -> Call:
    """Check all that does not depend on the instance."""
    began = time.monotonic()
    if not isinstance(options, SolveOptions | None):
        raise OptionError(
            f"options: expected SolveOptions, got {options!r}; single options are "
            "keywords, SolveOptions.from_mapping reads a dict"
        )
    heuristic = changes.get("heuristics")
    heuristic = heuristic if callable(heuristic) else None
    if heuristic is not None:  # no option that files hold: it runs here, and now
        changes = {**changes, "heuristics": Heuristics.AUTO}
    if progress is not None and not isinstance(progress, Progress):
        changes = {**changes, "progress": progress}
    chosen = (options or SolveOptions()).replace(**changes)
    check_engine(chosen)
    client, chosen, where = placed(client, chosen)
    return Call(
        chosen, shown_by(progress, chosen), should_stop, began, client, where,
        detached, heuristic,
    )  # fmt: skip


def planned(
    instance: Any, call: Call, front: Iterable[Any] = (), back: Iterable[Any] = ()
) -> Plan:
    """Read an instance, and check everything before anything is started."""
    options = call.options
    with noting():
        problem = with_ends(read_problem(instance), front, back)
        problem = with_bound(problem, options.bound)
        options = numbered(problem, options)
        check_fit(problem, options)
        check_files(options)
    if options.checkpoint is not None and call.has_own_cluster:
        check_folder(options.checkpoint)
    return Plan(problem, instance_name_of(problem), options, call.began)


def check_files(options: SolveOptions, *others: object) -> None:
    """Raise OptionError for a file that cannot be written, or is one of the others."""
    certificate, optima = options.certificate, options.optima_file
    if certificate is not None:
        check_writable(certificate, "certificate", *others)
    if optima is not None:
        check_writable(optima, "optima_file", *others, certificate)


def numbered(problem: Problem[Any], options: SolveOptions) -> SolveOptions:
    """Return options that give jobs by their numbers alone, and the branching rule.

    Of many jobs estimates may say another one than the first, see ``start.with_rule``.

    OptionError: there is no job of a name, or the jobs are no permutation.
    """
    names = names_of(problem)
    changed: dict[str, Any] = {"branching": settled_rule(problem, options.branching)}
    if options.initial is not None:
        jobs = names.numbers(options.initial, "initial")
        changed["initial"] = part_of(problem, jobs, "initial")
    if options.tuning.root_order is not None:
        # of the jobs between given ones, which have numbers of their own
        all_ours = len(whole_of(problem, range(problem.n_jobs))) == problem.n_jobs
        jobs = (names if all_ours else NO_NAMES).numbers(
            options.tuning.root_order, "root_order"
        )
        order = check_permutation(jobs, "root_order", problem.n_jobs)
        changed["tuning"] = options.tuning.replace(root_order=order)
    return options.replace(**changed)


OF_ENGINES = (
    (("pool",), ("pool_size", "selection")),
    (("gpu", "auto"), ("explorers", "block_size", "balance")),
)
"""Engines, and the options that no others look at."""


def check_engine(options: SolveOptions) -> None:
    """Raise OptionError for an option that the engine would not look at."""
    for engines, names in OF_ENGINES:
        for name in names:
            given = getattr(options.tuning, name) is not None
            if given and options.engine not in engines:
                raise OptionError(
                    f"{name}: expected engine {' or '.join(engines)}, got engine "
                    f"{options.engine}"
                )


def check_fit(problem: Problem[Any], options: SolveOptions) -> None:
    """Raise OptionError for an option that does not fit the instance.

    InstanceError: what the instance says of itself does not fit.
    """
    check_numbers(problem)
    any_ub = 0  # whether there is one for MinBranch is asked below
    reason = refusal(problem, tree_of(problem, options, any_ub))
    if reason is not None:
        raise OptionError(reason)
    if options.initial is not None:
        cost_of(problem, np.array(options.initial, dtype=np.intp))
    if options.certificate is not None and not isinstance(problem, Encodable):
        raise OptionError(
            f"certificate: expected a problem that has encode(), got one of kind "
            f"{problem.name!r}: nobody could check it without the problem"
        )
    if options.certificate is not None and problem.n_jobs > checker.MOST_JOBS:
        raise OptionError(
            f"certificate: expected at most {checker.MOST_JOBS} jobs, got "
            f"{problem.n_jobs}: nobody could check it"
        )
    if options.certificate is not None or options.checkpoint is not None:
        _check_encoding(problem)
    named = heuristics_of(problem).heuristics
    kinds.one_of(*Heuristics, *named).check(options.heuristics, "heuristics")
    if options.heuristics == Heuristics.NONE:
        given = (options.initial, options.upper_bound, options.cutoff)
        tree_of(problem, options, None if given == (None, None, None) else any_ub)


def _check_encoding(problem: Problem[Any]) -> None:
    """Raise OptionError now if what is saved could not be read later.

    A kind that nobody has registered yet may be, by then.
    """
    try:
        known = json.loads(json.dumps(encoded(problem)))
        if holds_problem(known) and decoder_of(problem.name) is not None:
            decoded(known)
    except (InstanceError, TypeError, ValueError) as error:
        raise OptionError(
            f"encode() of kind {problem.name!r}: expected JSON values that its decoder "
            f"decodes, got: {error}"
        ) from error


def shown_by(progress: Progress | str | None, options: SolveOptions) -> Progress:
    """Return what shows the run: the one given, or made as the options say."""
    if isinstance(progress, Progress):
        return progress
    # lines for programs were asked for by name
    json = options.progress is ProgressStyle.JSON
    quiet = options.verbosity is Verbosity.QUIET and not json
    style = ProgressStyle.NONE if quiet else options.progress
    return make_progress(style, interval_s=options.report_interval_s)
