"""Running a campaign: estimates first, cheap instances first, several at a time."""

import logging
import platform
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dpbb import api
from dpbb.campaign.folder import (
    CERTIFICATES,
    CHECKPOINTS,
    ENDED,
    CampaignFolder,
    Record,
    doubt_of,
    features_of,
)
from dpbb.campaign.sets import KnownSchedule, named
from dpbb.cluster.client.connect import connect, placed
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.coordination.checkpoint import Checkpoint
from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import CheckpointError, DpbbError, OptionError
from dpbb.estimation.estimating import estimate
from dpbb.estimation.result import USED_OPTIONS
from dpbb.flowshop.family import read_problem
from dpbb.options import OPTIONS, SolveOptions, Strategy
from dpbb.problem import (
    Problem,
    best_known_of,
    bound_of,
    instance_name_of,
    n_machines_of,
    objective_of,
)
from dpbb.progress.base import Progress
from dpbb.result import Result, Termination, Totals
from dpbb.solving.arguments import called, planned
from dpbb.solving.resume import options_before, seconds_of

logger = logging.getLogger(__name__)

ESTIMATE_S = 1.0
"""Default seconds of sampling for each instance."""

SMALL_NODES = 1e8
"""Trees of fewer nodes are explored side by side."""

POLL_S = 0.5

LEAST_S = 0.01
"""Limit of what was killed when its time was up: its checkpoint becomes a result."""

TAKEN = ("scheduler", "workers", "threads", "engine")
"""Options that an instance takes anew when it goes on from a checkpoint."""

SAME = (
    *("status", "termination", "proof", "makespan", "permutation", "lower_bound"),
    *("engine", "seats", "versions"),
)
"""What a record has as its result has it."""

OWN = ("checkpoint", "certificate")
"""Options that a campaign gives values of its own."""


@dataclass(slots=True)
class Watch(Progress):
    """Takes the last state of one run, for the overview."""

    name: str
    began: float
    snapshot: Snapshot | None = None
    strategy: str = ""

    def note(self, text: str) -> None:
        """Take the strategy that the run has chosen; see ``Progress.note``."""
        what, _, rest = text.partition(" ")
        if what == "strategy":
            self.strategy = rest.partition(":")[0]

    def update(self, snapshot: Snapshot) -> None:
        """See ``Progress.update``."""
        self.snapshot = snapshot

    finish = update


@dataclass(slots=True)
class Campaign:
    """Solves the instances of a folder until each is proved or out of time.

    Parameters
    ----------
    folder
        Where records are, checkpoints and certificates.
    options
        Of every solve. ``time_limit_s`` is for an instance, all attempts together;
        ``checkpoint`` and ``certificate`` are the campaign's own.
    side_by_side
        Small trees explored at a time; larger ones have all seats for themselves.
    estimate_s
        Seconds of sampling for each instance.
    schedules
        Schedules to start from, by the names of their instances as ``named`` has them.
    hint
        Explore below the best known makespan + 1 from the start, so that a schedule of
        that value is found and proved.
    should_stop
        Polled; True ends the running solves, which keep their checkpoints.
    on_line
        Takes lines for people.
    on_state
        Takes what runs now, twice a second.
    """

    folder: CampaignFolder
    options: SolveOptions
    side_by_side: int = 2
    estimate_s: float = ESTIMATE_S
    schedules: Mapping[str, KnownSchedule] = field(default_factory=dict)
    hint: bool = False
    should_stop: Callable[[], bool] = lambda: False
    on_line: Callable[[str], None] = lambda _text: None
    on_state: Callable[[Sequence[Watch], int, int], None] = lambda *_: None
    _host: str = field(default_factory=platform.node)
    _where: dict[str, Any] = field(default_factory=dict)
    _broken: bool = False

    def check_options(self, problems: Mapping[str, Problem[Any]]) -> None:
        """Raise OptionError for options that an instance could not be solved with.

        Those of the campaign's own are among them, and what is of one instance.
        """
        for name in OWN:
            if getattr(self.options, name) is not None:
                raise OptionError(f"{name}: expected none, it is the campaign's own")
        if self.options.all_optima:
            raise OptionError(
                "all_optima: expected with one instance (dpbb solve INSTANCE "
                "--all-optima), got a campaign, which looks for one optimum of each"
            )
        self.options.replace(checkpoint=CHECKPOINTS)
        for source, problem in problems.items():
            known = best_known_of(problem) if self.hint else None
            above = {} if known is None else {"upper_bound": known.upper_bound + 1}
            try:
                planned(problem, called(None, self.options, above, Progress()))
            except OptionError as error:
                raise OptionError(f"{source}: {error}") from error

    def run(self, problems: Mapping[str, Problem[Any]]) -> list[Record]:
        """Solve what is not proved yet; returns the records of all, cheapest first.

        Parameters
        ----------
        problems
            Instances by what they were asked for; see ``problems_of``.

        Raises
        ------
        OptionError
            Bad input, before anything is solved.
        DpbbError
            Another campaign has the folder, or no scheduler answers.
        """
        client, self.options, where = placed(None, self.options)
        if client is not None:
            self.options = self.options.replace(scheduler=client.scheduler.address)
        if where:
            self.on_line(where)
        self.check_options(problems)
        if self.options.scheduler is not None:
            # which writes the checkpoints
            with connect(self.options.scheduler) as its_client:
                self._host = str(its_client.run_on_scheduler(platform.node))
        sources = {one.digest: (source, one) for source, one in problems.items()}
        names = {named(instance_name_of(one)) for one in problems.values()}
        if self.schedules and not names & self.schedules.keys():
            self.on_line(
                f"--schedules: expected names such as {min(names)}, got none of an "
                f"instance of this campaign, but such as {min(self.schedules)}"
            )
        with self.folder.alone():
            records = {}
            for file, record in self.folder.by_file().items():
                if record.digest in sources:
                    self._check(file, record, sources[record.digest][1])
                records[record.digest] = record
            found = [
                records.get(digest) or self._estimated(source, problem)
                for digest, (source, problem) in sources.items()
                if not self.should_stop()
            ]
            found.sort(key=_cost)
            other = {one.aim for one in records.values()} - {one.aim for one in found}
            if found and other:
                aims = "; ".join(sorted(other))
                self.on_line(f"{self.folder.path} has records of others, too: {aims}")
            self._solve_all(found, {key: one for key, (_, one) in sources.items()})
            records = self.folder.records()
            return [records[record.digest] for record in found]

    def _check(self, file: Path, record: Record, problem: Problem[Any]) -> None:
        """Check that a record which says that nothing is left to do holds."""
        ended = record.status in ENDED
        doubt = ended and doubt_of(record, self.folder.path, problem=problem)
        if doubt:
            raise DpbbError(
                f"{file}: expected a record that holds, or none to solve the instance "
                f"again, got one of which {doubt}"
            )

    def _estimated(self, source: str, problem: Problem[Any]) -> Record:
        """Return a new record of an instance, with an estimate of its tree."""
        known = best_known_of(problem)
        record = Record(
            source=source,
            instance=instance_name_of(problem),
            digest=problem.digest,
            n_jobs=problem.n_jobs,
            n_machines=n_machines_of(problem),
            objective=objective_of(problem),
            features=features_of(problem),
            best_lower=None if known is None else known.lower_bound,
            best_upper=None if known is None else known.upper_bound,
            bound=str(self.options.bound or ""),
        )
        try:
            size = estimate(
                problem,
                seconds=self.estimate_s,
                measure=False,
                should_stop=self.should_stop,
                **self._given(USED_OPTIONS),
            )
            record = replace(record, estimated=size.nodes, doubts=size.reasons)
            record = replace(record, low=size.low, high=size.high)
            said = f"about {size.nodes:,.0f} nodes below {size.upper_bound:,}"
            said += f" ({size.source})" if size.source else ""
        except DpbbError:
            raise
        except Exception as error:  # noqa: BLE001 - the other instances go on
            record = _with_error(record, error)
            said = record.error
        self.folder.save(record)
        self.on_line(f"{record.instance:<14} {said}")
        return record

    def _solve_all(
        self, found: list[Record], problems: dict[str, Problem[Any]]
    ) -> None:
        """Solve those with anything left to do, several at a time."""
        limit = self.options.time_limit_s
        asked = self.options.cutoff or self.options.upper_bound
        left = [
            record
            for record in found
            if not record.proved
            and (limit is None or record.limit_s < limit)
            and (asked is None or (record.lower_bound or 0) < asked)
        ]
        for record in found:
            self._tidy(record)
        done = len(found) - len(left)
        self.on_line(f"{len(found)} instances, {done} of them with nothing to do")
        if not left or self.should_stop():
            return
        running: dict[Future[Record], Watch] = {}
        workers = ThreadPoolExecutor(self.side_by_side, "dpbb-campaign")
        with self._cluster(), workers as pool:
            while left or running:
                while left and self._may_begin(left[0], len(running)):
                    record = left.pop(0)
                    watch = Watch(record.instance, time.monotonic())
                    problem = problems[record.digest]
                    future = pool.submit(self._solve, record, problem, watch)
                    running[future] = watch
                if not running:  # stopped
                    break
                ended = wait(running, POLL_S, FIRST_COMPLETED).done
                for future in ended:
                    del running[future]
                    try:
                        record = future.result()
                    except Exception as error:  # without a record the others stop
                        self._broken = True
                        self.on_line(f"no record: {error}; the campaign stops")
                        raise
                    done += 1
                    self.on_line(_line(record, done, len(found)))
                self.on_state(list(running.values()), done, len(found))

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        """Start one cluster for all instances where cores explore.

        One for each would take more than a second each time. On GPUs each has its own,
        as start heuristics have the GPU until the tree begins.
        """
        from dpbb.cluster.worker.gpus import is_explored_by_cores

        options = self.options
        own = options.scheduler is None and options.workers != 0
        if own and is_explored_by_cores(options.engine):
            from dpbb.cluster.local import embedded_cluster

            with embedded_cluster(
                workers=options.workers,
                threads=options.threads,
                engine=str(options.engine),
            ) as (cluster, _):
                address = cluster.scheduler_address
                self._where = {"scheduler": address, "workers": None}
                yield
        else:
            yield

    def _may_begin(self, record: Record, running: int) -> bool:
        if self.should_stop():
            return False
        return running < (self.side_by_side if _cost(record) < SMALL_NODES else 1)

    def _solve(self, record: Record, problem: Problem[Any], watch: Watch) -> Record:
        """Solve one instance, or go on with it; saves and returns its record."""
        label = self.folder.label(record)
        own = self._checkpoints(label)  # whatever the record, which is anybody's, says
        checkpoint = str(own)
        certificate = self.folder.file(CERTIFICATES, f"{label}.json.gz")
        changes: dict[str, Any] = {}
        known = self.schedules.get(named(record.instance))
        if known is not None:
            changes["initial"] = known.permutation
            record = replace(record, known_from=known.source)
        how: dict[str, Any] = {
            "progress": watch,
            "should_stop": lambda: self._broken or self.should_stop(),
        }
        try:
            ended = record.status in ENDED  # without a schedule: another tree is next
            saved = None if ended else self._saved(checkpoint, record)
            if saved is None:
                record = replace(record, earlier=record.totals)
            if saved is None or saved.spec.certificate:
                changes["certificate"] = str(certificate)
            self.folder.save(record)  # should it be killed
            changes["time_limit_s"] = self._time_left(record, saved)
            if saved is not None:
                self.on_line(self._going_on(record, saved, changes.keys()))
                how |= self._given(TAKEN) | self._where
                result = api.resume(checkpoint, **how, **changes)
            else:
                if self.hint and record.best_upper is not None:
                    changes["upper_bound"] = record.best_upper + 1
                changes |= self._where
                options = self.options.replace(checkpoint=checkpoint, **changes)
                result = api.solve(problem, options=options, fresh=True, **how)
            record = self._with_result(record, result, own, certificate)
            record = replace(
                record,
                strategy=watch.strategy or record.strategy,
                bound=record.bound or bound_of(problem),
            )
        except Exception as error:  # noqa: BLE001 - the other instances go on
            record = _with_error(record, error)
        self.folder.save(record)
        self._tidy(record)  # not before it is saved
        return record

    def _tidy(self, record: Record) -> None:
        """Remove the checkpoint of what ended, also one that a kill left behind."""
        if record.status in ENDED:
            own = self._checkpoints(self.folder.label(record))
            shutil.rmtree(own, ignore_errors=True)

    def _checkpoints(self, label: str) -> Path:
        return self.folder.file(CHECKPOINTS, label).absolute()

    def _given(self, names: Collection[str] = OPTIONS) -> dict[str, Any]:
        """Return those of some options that are not None."""
        values = self.options.to_mapping()
        return {name: values[name] for name in names if values[name] is not None}

    def _time_left(self, record: Record, saved: Checkpoint | None) -> float | None:
        """Seconds of an instance's limit that no attempt has had, killed ones too."""
        limit = self.options.time_limit_s
        if limit is None:
            return None
        latest = 0.0 if saved is None else seconds_of(saved)
        spent = max(record.limit_s, latest + record.earlier.seconds)
        return max(limit - spent, LEAST_S)

    def _going_on(
        self, record: Record, saved: Checkpoint, changed: Collection[str]
    ) -> str:
        """Say with what an instance goes on, and which given options it does not take.

        ``auto`` is none of them: a choice is made once.
        """
        values = options_before(saved.spec).to_mapping()
        default = SolveOptions().to_mapping()
        other = [
            f"{OPTIONS[name].flag} {value}"
            for name, value in self._given().items()
            if name not in (*TAKEN, *changed)
            and not OPTIONS[name].client
            and value not in (default[name], values[name], Strategy.AUTO)
        ]
        if self.hint and saved.ub > (record.best_upper or saved.ub) + 1:
            other.append("--hint")
        line = (
            f"{record.instance:<14} goes on after {seconds_of(saved):.0f} s "
            f"with bound {values['bound']}, strategy {values['strategy']}"
        )
        return f"{line}; not taken: {', '.join(other)}" if other else line

    def _saved(self, checkpoint: str, record: Record) -> Checkpoint | None:
        """Return a checkpoint to go on from, on this machine or in a store, if any.

        CheckpointError: it lies on another machine.
        """
        try:
            saved = load_checkpoint(checkpoint)
            if (digest := saved.spec.problem.digest) != record.digest:
                raise CheckpointError(f"expected it of this instance, got {digest}")
            return saved
        except CheckpointError as error:
            host = record.checkpoint_host
            if record.checkpoint is not None and host not in (None, platform.node()):
                raise CheckpointError(
                    f"{record.instance}: expected its checkpoint at {checkpoint}, "
                    f"which lies on {host}: copy it here, or go on there ({error})"
                ) from error
            if record.checkpoint is not None:
                self.on_line(f"{record.instance:<14} begins anew: {error}")
            return None

    def _with_result(
        self, record: Record, result: Result, own: Path, certificate: Path
    ) -> Record:
        ended = result.status in ENDED
        local = self.options.scheduler is None
        checkpoint: str | None = f"{CHECKPOINTS}/{own.name}" if local else str(own)
        here = self._host == platform.node()
        if ended or (here and not any(own.glob("*.dpbb"))):
            checkpoint = None
        latest = {name: getattr(result, name) for name in Totals.__dataclass_fields__}
        totals = record.earlier.plus(Totals(**latest))
        # what ended or was stopped goes on with the time that it had left
        took = result.termination in (Termination.STOPPED, Termination.EXHAUSTED)
        limit_s = 0.0 if took else self.options.time_limit_s or 0.0
        given = {name: getattr(self.options, name) for name in self._where}
        values = result.options.to_mapping() | given
        there = certificate.is_file()
        found = replace(
            record,
            **{name: getattr(result, name) for name in SAME},
            totals=totals,
            hosts=tuple(dict.fromkeys((*record.hosts, platform.node()))),
            limit_s=max(limit_s, totals.seconds),
            attempts=record.attempts + 1,
            checkpoint=checkpoint,
            checkpoint_host=checkpoint and self._host,
            certificate=f"{CERTIFICATES}/{certificate.name}" if there else None,
            strategy=result.options.strategy,
            bound=result.options.bound or "",
            options={name: values[name] for name in values if name not in OWN},
            trajectory=tuple(
                (round(one.seconds, 3), one.value, one.source)
                for one in result.trajectory
            ),
            error="",
        )
        return found if found.proved else found.with_best_of(record)


def problems_of(sources: Sequence[str], **how: Any) -> dict[str, Problem[Any]]:
    """Read the instances of names and files; see ``read_problem``."""
    return {source: read_problem(source, **how) for source in sources}


def _with_error(record: Record, error: Exception) -> Record:
    """Return a record that says what went wrong; where it did, only the log says."""
    text = str(error)
    if not isinstance(error, DpbbError):
        logger.error("%s: expected no error", record.instance, exc_info=error)
        text = f"{type(error).__name__}: {error}"
    return replace(record, status="error", error=text)


def _cost(record: Record) -> float:
    return float("inf") if record.estimated is None else record.estimated


def _line(record: Record, done: int, of: int) -> str:
    value = "-" if record.makespan is None else f"{record.makespan:,}"
    value += "" if record.objective == "makespan" else f" {record.objective}"
    text = record.error if record.status == "error" else record.status
    bound = "" if record.proved else f", lower bound {record.lower_bound}"
    nodes = f"{record.totals.nodes:,} nodes, {record.totals.seconds:.1f} s"
    news = f"; NEW: {record.news}" if record.news else ""
    line = f"{done}/{of} {record.instance:<14} {value:>7} {text}{bound}; {nodes}{news}"
    if record.checkpoint is None:
        return line
    return f"{line}; goes on from {record.checkpoint} on {record.checkpoint_host}"
