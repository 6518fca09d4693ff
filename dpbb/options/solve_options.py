"""Options of a solve: one frozen table behind the API, the CLI, TOML files and docs.

A field of ``SolveOptions`` is a row of the table: its default, and in the metadata what
is allowed and what it means. Nothing else lists the options; ``dpbb.options.table``
gives the rows to whoever shows or reads them.
"""

# ruff: noqa: RUF009  (the rows are dataclass fields, made by a function)

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpbb.errors import OptionError
from dpbb.options import kinds
from dpbb.options.kinds import unknown_option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dpbb.options.kinds import Kind

BLOCK_SIZE_RANGE = (32, 512)
"""Threads of a block of the GPU engine."""


class BranchingRule(StrEnum):
    """How a decomposed node chooses between its front and its back children."""

    MINMIN = "minmin"
    MINBRANCH = "minbranch"
    MAXSUM = "maxsum"
    ALTERNATE = "alternate"
    FRONT = "front"
    BACK = "back"


class Bound(StrEnum):
    """Lower bound that prunes children."""

    LB1 = "lb1"


class EngineName(StrEnum):
    """Which engine explores; ``auto`` takes a GPU when there is one, else the CPU."""

    AUTO = "auto"
    CPU = "cpu"
    GPU = "gpu"
    REFERENCE = "reference"


class Heuristics(StrEnum):
    """What looks for a first incumbent before the tree is explored."""

    AUTO = "auto"  # what does best on instances of this size
    BEAM = "beam"  # NEH, then beam search
    IG = "ig"  # NEH, then iterated greedy
    NEH = "neh"
    NONE = "none"


class Balance(StrEnum):
    """How a GPU's explorers share their work."""

    EXPLODE = "explode"
    STEAL = "steal"


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


class Estimates(StrEnum):
    """Whether it is estimated what a run has left."""

    AUTO = "auto"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class TreeOptions:
    """All that the tree depends on besides the problem (invariant I1).

    Parameters
    ----------
    branching
        The branching rule.
    branching_ub
        Fixed value that MinBranch compares bounds with; required by it, ignored by
        the other rules.
    bound
        The lower bound.
    root_order
        Jobs in the order in which siblings are numbered; None is 0, 1, ..., n-1.
    """

    branching: BranchingRule = BranchingRule.MINMIN
    branching_ub: int | None = None
    bound: Bound = Bound.LB1
    root_order: tuple[int, ...] | None = None


def _option(default: Any, kind: Kind, help: str) -> Any:  # noqa: ANN401
    """Row of the table; the kind says what is allowed."""
    return field(default=default, metadata={"kind": kind, "help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """How to solve an instance; every value is checked.

    ``option_rows()`` lists the fields with what is allowed and what they mean, as does
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

    engine: EngineName = _option(
        EngineName.AUTO,
        kinds.choice(EngineName),
        "engine that explores; auto: a GPU when there is one, else the CPU",
    )
    threads: int | None = _option(
        None,
        kinds.optional(kinds.whole(1, 1024), "all physical cores"),
        "CPU threads that each worker explores with",
    )
    workers: int | None = _option(
        None,
        kinds.optional(kinds.whole(1, 1024), "one, or one for each GPU"),
        "worker processes of the embedded cluster; with GPUs: how many of those that "
        "CUDA_VISIBLE_DEVICES leaves",
    )
    scheduler: str | None = _option(
        None,
        kinds.optional(kinds.address(), "own"),
        "existing Dask cluster to explore on, such as tcp://host:8786",
    )
    branching: BranchingRule = _option(
        BranchingRule.MINMIN,
        kinds.choice(BranchingRule),
        "rule that chooses between front and back children",
    )
    branching_ub: int | None = _option(
        None,
        kinds.optional(kinds.whole(0), "the upper bound after the start heuristics"),
        "value that minbranch compares bounds with",
    )
    bound: Bound = _option(Bound.LB1, kinds.choice(Bound), "lower bound that prunes")
    upper_bound: int | None = _option(
        None,
        kinds.optional(kinds.whole(0)),
        "a schedule of this makespan is known: look for better ones only",
    )
    cutoff: int | None = _option(
        None,
        kinds.optional(kinds.whole(0)),
        "look for schedules below this value only, without any heuristic",
    )
    initial: tuple[int, ...] | None = _option(
        None,
        kinds.optional(kinds.permutation()),
        "schedule to start from (warm start), jobs 0 to n-1",
    )
    root_order: tuple[int, ...] | None = _option(
        None,
        kinds.optional(kinds.permutation(), "0 to n-1"),
        "jobs in the order in which siblings are numbered",
    )
    time_limit_s: float | None = _option(
        None,
        kinds.optional(kinds.number(above=0)),
        "stop after so many seconds, heuristics and start-up included",
    )
    node_limit: int | None = _option(
        None, kinds.optional(kinds.whole(1)), "stop after about so many explored nodes"
    )
    gap_limit: float | None = _option(
        None,
        kinds.optional(kinds.number(least=0, below=1)),
        "stop when (UB - LB) / UB is at most this",
    )
    heuristics: Heuristics = _option(
        Heuristics.AUTO,
        kinds.choice(Heuristics),
        "what looks for a first incumbent: NEH, then iterated greedy or beam search",
    )
    heuristic_time_s: float | None = _option(
        None,
        kinds.optional(
            kinds.number(least=0),
            "by size; of a time limit at most half, three quarters with compiling",
        ),
        "seconds that the heuristics may take",
    )
    all_optima: bool = _option(
        False, kinds.flag(), "find every optimal permutation: prune LB > UB only"
    )
    optima_file: str | None = _option(
        None,
        kinds.optional(kinds.text("FILE", "the path of a file to write")),
        "with all_optima: write the optimal permutations here, one a line",
    )
    report_interval_s: float = _option(
        1.0,
        kinds.number(above=0),
        "seconds between reports of a seat and progress rows; in long runs the rows "
        "become rarer",
    )
    checkpoint_interval_s: float = _option(
        30.0,
        kinds.number(above=0),
        "seconds between full reports, and checkpoints: what is lost at most",
    )
    checkpoint: str | None = _option(
        None,
        kinds.optional(
            kinds.text("FOLDER", "a path or fsspec URL, such as s3://bucket/run")
        ),
        "folder, of the scheduler's machine, to write checkpoints to: dpbb resume goes "
        "on from it",
    )
    checkpoint_keep: int = _option(3, kinds.whole(1), "how many checkpoints are kept")
    certificate: str | None = _option(
        None,
        kinds.optional(kinds.text("FILE", "the path of a file to write, .json.gz")),
        "write a certificate of the proof here; dpbb verify checks it",
    )
    slice_s: float | None = _option(
        None,
        kinds.optional(kinds.number(least=0.001, most=1), "automatic"),
        "seconds between looks at new orders; on a GPU orders end a slice",
    )
    units_per_seat: int = _option(
        4, kinds.whole(1, 4096), "work units that a donation is cut into, per idle seat"
    )
    explorers: int | None = _option(
        None,
        kinds.optional(kinds.whole(1), "automatic"),
        "GPU: number of explorers",
    )
    block_size: int | None = _option(
        None,
        kinds.optional(kinds.whole(*BLOCK_SIZE_RANGE), "automatic"),
        "GPU: threads of a block, a multiple of 32",
    )
    balance: Balance | None = _option(
        None,
        kinds.optional(kinds.choice(Balance), "automatic"),
        "GPU: how explorers share their work",
    )
    estimates: Estimates = _option(
        Estimates.AUTO,
        kinds.choice(Estimates),
        "auto: estimate what is left of runs of more than 40 s, with low priority "
        "on the scheduler's machine",
    )
    seed: int = _option(0, kinds.whole(0), "seed of the heuristics")
    progress: ProgressStyle = _option(
        ProgressStyle.AUTO,
        kinds.choice(ProgressStyle),
        "live view, plain rows, or JSON, a snapshot a line, on stderr; auto: live on a "
        "terminal and in a notebook, else plain",
    )
    verbosity: Verbosity = _option(
        Verbosity.NORMAL,
        kinds.choice(Verbosity),
        "quiet: say nothing; normal: progress; verbose: log messages too",
    )

    def __post_init__(self) -> None:
        for option in fields(self):
            kind: Kind = option.metadata["kind"]
            value = kind.check(getattr(self, option.name), option.name)
            object.__setattr__(self, option.name, value)
        if self.upper_bound is not None and self.cutoff is not None:
            raise OptionError(
                "upper_bound, cutoff: expected at most one of them, got "
                f"{self.upper_bound} and {self.cutoff}; cutoff explores without "
                "heuristics, upper_bound leaves them on"
            )
        if self.block_size is not None and self.block_size % 32:
            raise OptionError(
                f"block_size: expected a multiple of 32, got {self.block_size}"
            )
        if self.optima_file is not None and not self.all_optima:
            raise OptionError(
                "optima_file: expected together with all_optima, got it alone"
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
        return cls().replace(**values)

    @classmethod
    def from_toml(cls, path: str | Path) -> SolveOptions:
        """Read the ``[solve]`` table of a TOML file."""
        from dpbb.options.table import read_toml

        return cls.from_mapping(read_toml(path))

    def replace(self, /, **values: Any) -> SolveOptions:  # noqa: ANN401
        """Copy with some options changed."""
        known = [option.name for option in fields(self)]
        for name in values:
            if name not in known:
                raise unknown_option(name, known)
        return replace(self, **values)

    def to_mapping(self) -> dict[str, Any]:
        """Names and values that JSON and TOML can hold; ``from_mapping``'s inverse."""
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
        }

    def tree(self, ub: int | None) -> TreeOptions:
        """Options of the tree.

        Parameters
        ----------
        ub
            Upper bound after the start heuristics or cutoff: what MinBranch compares
            with unless ``branching_ub`` is given. None when there is neither.
        """
        branching_ub = ub if self.branching_ub is None else self.branching_ub
        if self.branching is not BranchingRule.MINBRANCH:
            branching_ub = None
        elif branching_ub is None:
            raise OptionError(
                "branching_ub: expected a value, as minbranch compares bounds with it "
                "and neither a heuristic nor upper_bound, cutoff or initial gives one"
            )
        return TreeOptions(self.branching, branching_ub, self.bound, self.root_order)
