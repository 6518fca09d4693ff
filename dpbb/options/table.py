"""The options of a solve: one table behind the API, the command line, TOML and docs.

A field of ``SolveOptions`` is a row: its name, type and default, what is allowed, where
it matters and what it means. What else lists options is made of it: the flags, the
reference, and ``dpbb.options.derived`` (run ``docs/make_options.py`` after a change).
"""

# ruff: noqa: RUF009  (the rows are dataclass fields, made by a function)

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, get_args

import msgspec

from dpbb.errors import OptionError
from dpbb.options import kinds
from dpbb.options.rows import Group, Resumed, fill, read_toml, row, rows_of

if TYPE_CHECKING:
    from dpbb.options.derived import OptionKeywords, TuningKeywords

LB1 = "lb1"
"""Name of the bound of a problem that does not name it."""

BLOCK_SIZE_RANGE = (32, 512)
"""Threads of a block of the GPU engine."""


Processor = Literal["cpu", "gpu"]
"""What computes."""

DeviceName = Literal["auto", Processor]
"""What is asked for; ``auto`` takes a GPU where there is one and it pays."""

PROCESSORS: tuple[Processor, ...] = get_args(Processor)
DEVICES: tuple[DeviceName, ...] = get_args(DeviceName)


class BranchingRule(StrEnum):
    """How a decomposed node chooses between its front and its back children.

    ``own``: as the problem says, see ``dpbb.problem.ChoosesSides``.
    """

    MINMIN = "minmin"
    MINBRANCH = "minbranch"
    MAXSUM = "maxsum"
    ALTERNATE = "alternate"
    FRONT = "front"
    BACK = "back"
    OWN = "own"


class EngineName(StrEnum):
    """Which engine explores; ``auto`` takes a GPU when there is one, else the CPU."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"
    POOL = "pool"
    REFERENCE = "reference"


class Heuristics(StrEnum):
    """Choices of heuristics besides the names of those that a problem has."""

    AUTO = "auto"  # what does best on instances of this size
    NONE = "none"


class Strategy(StrEnum):
    """In which order trees are explored until a schedule is proved."""

    AUTO = "auto"  # as the estimate of the tree below the incumbent says
    INCUMBENT = "incumbent"  # one tree, below the best schedule known
    FROM_BELOW = "from-below"  # trees at rising upper bounds, each a proof


class Balance(StrEnum):
    """How a GPU's explorers share their work."""

    EXPLODE = "explode"
    STEAL = "steal"


class Selection(StrEnum):
    """Which open nodes the pool engine takes next."""

    HYBRID = "hybrid"  # best first, but deepest first while the pool is full
    BEST = "best"  # least bound first: the lower bound of the whole tree rises
    DEPTH = "depth"  # deepest first: fewest open nodes


class Verbosity(StrEnum):
    """How much a solve says while it runs."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


class ProgressStyle(StrEnum):
    """How the progress of a run is shown."""

    AUTO = "auto"  # live on a terminal or in a notebook, else rows
    LIVE = "live"
    PLAIN = "plain"
    JSON = "json"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """All that the tree depends on besides the problem (law 1).

    Parameters
    ----------
    branching
        The branching rule.
    branching_ub
        Fixed value that MinBranch compares bounds with; required by it, ignored by
        the other rules.
    bound
        The lower bound: its name, and after a colon its numbers if it has some.
    root_order
        Jobs in the order in which siblings are numbered; None is 0, 1, ..., n-1.
    rule_version
        Which rules there are, see ``dpbb.tree.branching``: 1, or 2 for those by which
        of equal jobs the first unscheduled one alone is branched on. Not where all
        optima are wanted.
    """

    branching: BranchingRule = BranchingRule.MINMIN
    branching_ub: int | None = None
    bound: str = LB1
    root_order: tuple[int, ...] | None = None
    rule_version: int = 1

    @property
    def skips_copies(self) -> bool:
        """Whether of equal jobs the first unscheduled one alone is branched on."""
        return self.rule_version == 2

    def to_json(self) -> dict[str, Any]:
        """Return the options as files have them; ``from_json``'s inverse."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TreeOptions:
        """Return the options that are among some values of a file.

        msgspec.ValidationError: they are none.
        """
        return msgspec.convert(values, cls)


_limit = partial(row, Group.LIMITS, resumed=Resumed.ANEW)
_search = partial(row, Group.SEARCH)
_heuristic = partial(row, Group.HEURISTICS)
_machine = partial(row, Group.MACHINES, client=True)
_file = partial(row, Group.FILES)
_shown = partial(row, Group.SHOWN)
_tuning = partial(row, Group.TUNING)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Tuning:
    """What changes how fast a tree is explored, and what only experiments need.

    ``TUNING`` lists the fields. A run that goes on from a checkpoint begins with the
    defaults again, but for what its tree depends on.

    Raises
    ------
    OptionError
        Says which field, what is allowed and what came.

    Examples
    --------
    >>> Tuning(balance="steal").explorers is None
    True
    """

    explorers: int | None = _tuning(
        kinds.whole(1), "GPU: number of explorers", otherwise="automatic"
    )
    block_size: int | None = _tuning(
        kinds.whole(*BLOCK_SIZE_RANGE),
        "GPU: threads of a block, a multiple of 32",
        otherwise="automatic",
    )
    balance: Balance | None = _tuning(
        kinds.choice(Balance),
        "GPU: how explorers share their work",
        otherwise="automatic",
    )
    slice_s: float | None = _tuning(
        kinds.number(above=0, most=1),
        "seconds between looks at new orders; on a GPU orders end a slice",
        otherwise="automatic",
    )
    units_per_seat: int = _tuning(
        kinds.whole(1, 4096),
        "work units that a donation is cut into, per idle seat",
        default=4,
    )
    pool_size: int | None = _tuning(
        kinds.whole(1, 1 << 24),
        "engine pool: children that are bounded together",
        otherwise="automatic",
    )
    selection: Selection | None = _tuning(
        kinds.choice(Selection),
        "engine pool: open nodes to take next; hybrid: the best, but the deepest while "
        "the pool is full; best: the lower bound of the tree rises, and memory grows",
        otherwise="hybrid",
    )
    heuristic_threads: int | None = _tuning(
        kinds.whole(0, 1024),
        "threads of each worker that improve schedules while the tree is explored; 0: "
        "none, as with --cutoff and without heuristics",
        otherwise="on a GPU's host the idle cores; of CPU workers none, or all but one "
        "of the threads where the tree does not end in time",
    )
    checkpoint_keep: int = _tuning(
        kinds.whole(1), "how many checkpoints are kept", default=3
    )
    branching_ub: int | None = _tuning(
        kinds.whole(0),
        "value that minbranch compares bounds with",
        otherwise="the upper bound after the start heuristics",
    )
    root_order: tuple[int, ...] | None = _tuning(
        kinds.permutation(),
        "jobs in the order in which siblings are numbered",
        otherwise="start schedule's ends inwards, or 0 to n-1",
    )

    def __init__(self, /, **values: Unpack[TuningKeywords]) -> None:
        fill(self, TUNING, values)
        if self.block_size is not None and self.block_size % 32:
            raise OptionError(
                f"block_size: expected a multiple of 32, got {self.block_size}"
            )

    def replace(self, /, **values: Unpack[TuningKeywords]) -> Tuning:
        """Copy with some fields changed."""
        before: dict[str, Any] = self.to_mapping()
        return Tuning(**{**before, **values})

    def to_mapping(self) -> dict[str, Any]:
        """Names and values that JSON and TOML can hold."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, Any])

    def changed(self) -> dict[str, Any]:
        """Names and values of those that are not the default."""
        values = {name: getattr(self, name) for name in TUNING}
        return {k: v for k, v in values.items() if v != TUNING[k].default}


TUNING = rows_of(Tuning)
"""The rows of ``Tuning``, by name."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class SolveOptions:
    """How to solve an instance; every value is checked.

    ``OPTIONS`` lists the fields with what is allowed and what they mean, as does
    ``dpbb solve --help``.

    Raises
    ------
    OptionError
        Says which option, what is allowed and what came.

    Examples
    --------
    >>> SolveOptions(engine="cpu", time_limit_s=60).replace(threads=2).threads
    2
    """

    time_limit_s: float | None = _limit(
        kinds.seconds(above=0), "stop after X seconds (30m, 2h), start-up included"
    )
    no_improvement_s: float | None = _limit(
        kinds.seconds(above=0),
        "stop when nothing better came for X seconds",
        "of exploring: since it began or was resumed",
    )
    node_limit: int | None = _limit(kinds.whole(1), "stop after about N explored nodes")
    gap_limit: float | None = _limit(
        kinds.number(least=0, below=1),
        "stop when (best - bound) / best is at most X",
        "the bound is the best one that is proved; at 0 the proof is at hand, and is "
        "finished",
    )
    engine: EngineName = _search(
        kinds.choice(EngineName),
        "what explores",
        "auto: a GPU when there is one, else the CPU",
        default=EngineName.AUTO,
        resumed=Resumed.ANEW,
    )
    bound: str | None = _search(
        kinds.name("the name of a bound"),
        "lower bound; of flow shops lb1, lb2 or cascade",
        "lb2: with two-machine bounds of the children that LB1 leaves; cascade: with "
        "some of them, or cascade:FIRST-LAST:u-v,u-v,... (depths; pairs of machines "
        "from 0). Of shops without buffers matching: of two neighbouring machines",
        otherwise="the problem's own",
        resumed=Resumed.FIXED,
    )
    branching: BranchingRule | None = _search(
        kinds.choice(BranchingRule),
        "front or back children",
        otherwise="the problem's own or one side; else minmin, from 200 jobs on maxsum "
        "unless estimates say that minmin's tree is far smaller",
        resumed=Resumed.FIXED,
    )
    strategy: Strategy = _search(
        kinds.choice(Strategy),
        "which trees",
        "incumbent: one tree, below the best schedule known; from-below: trees at "
        "rising upper bounds, each of which proves a lower bound; auto: from below "
        "where the one tree is estimated to take longer than there is time, or of 100 "
        "jobs and more near the root bound",
        default=Strategy.INCUMBENT,
    )
    all_optima: bool = _search(
        kinds.flag(),
        "find every optimal permutation: prune LB > UB only",
        default=False,
        resumed=Resumed.FIXED,
    )
    upper_bound: int | None = _search(
        kinds.whole(0),
        "a schedule of makespan N is known: find better ones",
        resumed=Resumed.ANEW,
    )
    cutoff: int | None = _search(
        kinds.whole(0),
        "explore just the tree below N, whole: is there a schedule?",
        "without heuristics",
        resumed=Resumed.FIXED,
    )
    initial: tuple[int, ...] | None = _heuristic(
        kinds.permutation(),
        "schedule to start from: its jobs, or a file with them",
        resumed=Resumed.ANEW,
    )
    heuristics: str = _heuristic(
        replace(
            kinds.name("auto, none or the name of a heuristic"),
            given="str | Callable[..., Any]",  # solve takes a function, too
        ),
        "auto, none, or of flow shops neh, ig, beam, tabu",
        "what looks for a first incumbent, of those that the problem has; neh alone, "
        "or neh and then another",
        default="auto",
    )
    heuristic_time_s: float | None = _heuristic(
        kinds.seconds(least=0),
        "seconds that they may take before the tree",
        "by default at most half of a time limit, or three quarters where something "
        "has to be compiled first",
        otherwise="by the size of the instance",
    )
    seed: int = _heuristic(kinds.whole(0), "seed of the heuristics", default=0)
    workers: int | None = _machine(
        kinds.whole(0, 1024),
        "worker processes of the embedded cluster; 0: no cluster",
        "with GPUs: how many of those that CUDA_VISIBLE_DEVICES leaves; 0: this "
        "process explores with one thread, or as many as threads says",
        otherwise="one, or one for each GPU",
    )
    threads: int | None = _machine(
        kinds.whole(1, 1024),
        "CPU threads of each worker",
        otherwise="all physical cores",
    )
    scheduler: str | None = _machine(
        kinds.address(),
        "existing Dask cluster, such as tcp://host:8786",
        otherwise="$DPBB_SCHEDULER, $DASK_SCHEDULER_ADDRESS, else its own",
    )
    certificate: str | None = _file(
        kinds.path("FILE", "the path of a file to write, .json.gz"),
        "write a certificate here; dpbb verify checks it",
    )
    checkpoint: str | None = _file(
        kinds.path("FOLDER", "a path or fsspec URL, such as s3://bucket/run"),
        "write checkpoints here, and go on from those there",
        "a folder of the scheduler's machine",
    )
    checkpoint_interval_s: float = _file(
        kinds.seconds(above=0),
        "seconds between checkpoints: what is lost at most",
        "and between full reports of the seats",
        default=30.0,
    )
    optima_file: str | None = _file(
        kinds.path("FILE", "the path of a file to write"),
        "with --all-optima: write them here, one a line",
        client=True,
    )
    progress: ProgressStyle = _shown(
        kinds.choice(ProgressStyle),
        "on stderr",
        "auto: live on a terminal and in a notebook, else plain rows; json: a snapshot "
        "a line",
        default=ProgressStyle.AUTO,
        client=True,
    )
    report_interval_s: float = _shown(
        kinds.seconds(above=0),
        "seconds between progress rows",
        "and between reports of a seat, but at most 19; in long runs rows become rarer",
        default=1.0,
    )
    verbosity: Verbosity = _shown(
        kinds.choice(Verbosity),
        "verbose: log messages, too",
        default=Verbosity.NORMAL,
        client=True,
    )
    tuning: Tuning = _tuning(
        kinds.table(Tuning, TUNING),
        f"of the engines, for experiments: {', '.join(TUNING)}; see the reference of "
        "the options",
        default=Tuning(),
    )

    def __init__(self, /, **values: Unpack[OptionKeywords]) -> None:
        fill(self, OPTIONS, values)
        self._check_together()

    def _check_together(self) -> None:
        """Raise OptionError where options contradict each other."""
        if self.upper_bound is not None and self.cutoff is not None:
            raise OptionError(
                "upper_bound, cutoff: expected at most one of them, got "
                f"{self.upper_bound} and {self.cutoff}; cutoff explores without "
                "heuristics, upper_bound leaves them on"
            )
        if self.strategy is Strategy.FROM_BELOW:
            for name in ("cutoff", "all_optima"):
                if getattr(self, name):
                    raise OptionError(
                        f"strategy, {name}: expected {Strategy.INCUMBENT} with {name}, "
                        f"as one tree answers that, got {self.strategy}"
                    )
        if self.optima_file is not None and not self.all_optima:
            raise OptionError(
                "optima_file: expected together with all_optima, got it alone"
            )
        if self.workers == 0:
            named = ("checkpoint", "optima_file")
            needs = [name for name in named if getattr(self, name) is not None]
            if self.engine is EngineName.GPU:
                needs.append("engine gpu")
            if needs:
                raise OptionError(
                    f"workers: expected at least 1 with {needs[0]}, which takes a "
                    "cluster, got 0"
                )
        if self.scheduler is not None and self.workers is not None:
            raise OptionError(
                "workers: expected without scheduler, as an existing cluster has its "
                f"own workers, got {self.workers}"
            )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> SolveOptions:
        """Make options from names and values; refuses unknown names.

        Raises
        ------
        OptionError
            An unknown name (the message has the nearest known ones) or a bad value.
        """
        return cls(**values)

    @classmethod
    def from_toml(cls, path: str | Path) -> SolveOptions:
        """Read the ``[solve]`` table of a TOML file."""
        return cls(**read_toml(path, OPTIONS))

    def replace(self, /, **values: Unpack[OptionKeywords]) -> SolveOptions:
        """Copy with some options changed."""
        before: dict[str, Any] = {name: getattr(self, name) for name in OPTIONS}
        return SolveOptions(**{**before, **values})

    def to_mapping(self) -> dict[str, Any]:
        """Names and values that JSON and TOML can hold; ``from_mapping``'s inverse."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, Any])


OPTIONS = rows_of(SolveOptions)
"""The rows, by name."""

F = TypeVar("F", bound=Callable[..., Any])


def naming(names: Iterable[str] = OPTIONS) -> Callable[[F], F]:
    """Give a function that takes options as ``**`` a signature with their names.

    ``help`` and completion in notebooks show it; type checkers read ``Unpack`` of a
    ``TypedDict`` instead, which Jedi does not.

    ``names``: of the options; one that is a parameter already stays as it is.
    """

    def named(function: F) -> F:
        plain = signature(function)
        *own, _ = plain.parameters.values()
        options = [
            Parameter(row.name, Parameter.KEYWORD_ONLY, default=row.default)
            for row in map(OPTIONS.__getitem__, names)
            if row.name not in plain.parameters
        ]
        both = plain.replace(parameters=[*own, *options])
        function.__signature__ = both  # type: ignore[attr-defined]
        return function

    return named


naming()(SolveOptions.__init__)


def without_places(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without paths and addresses: what a checkpoint may say.

    It may be anybody's: where something is written, or who is asked, is for whoever
    goes on from it to say again.
    """
    return {
        name: value
        for name, value in values.items()
        if name not in OPTIONS or not OPTIONS[name].kind.place
    }


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of the scheduler and the seats of a run; see ``SolveOptions``."""

    node_limit: int | None = None
    gap_limit: float | None = None
    no_improvement_s: float | None = None
    all_optima: bool = False
    report_interval_s: float = 1.0
    checkpoint_interval_s: float = 30.0
    checkpoint: str | None = None

    @classmethod
    def of(cls, options: SolveOptions) -> RunOptions:
        """Return what all the options say of it."""
        return cls(**{one.name: getattr(options, one.name) for one in fields(cls)})
