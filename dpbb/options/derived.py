"""Types that follow from the options table; ``docs/make_options.py`` writes this."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypedDict

from dpbb.options.table import (
    Balance,
    BranchingRule,
    EngineName,
    Estimates,
    Offload,
    Placement,
    ProgressStyle,
    Selection,
    Strategy,
    Verbosity,
)

# fmt: off

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike
    from typing import Literal, SupportsIndex, TypeAlias

    from dpbb.options.table import SolveOptions

    StyleName: TypeAlias = ProgressStyle | Literal["auto", "live", "plain", "json", "none"]  # noqa: E501


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of the scheduler and the seats of a run.

    ``dpbb.options.table`` says what they mean.
    """

    node_limit: int | None = None
    gap_limit: float | None = None
    heuristic_threads: int | None = None
    heuristic_start_s: float | None = None
    all_optima: bool = False
    report_interval_s: float = 1.0
    checkpoint_interval_s: float = 30.0
    checkpoint: str | None = None
    checkpoint_keep: int = 3
    units_per_seat: int = 4
    estimates: Estimates = Estimates.AUTO

    @classmethod
    def of(cls, options: SolveOptions) -> RunOptions:
        """Return what all the options say of it."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: getattr(options, name) for name in names})


@dataclass(frozen=True, slots=True)
class Tuning:
    """What changes the speed of an engine, never its counts; None: automatic.

    ``dpbb.options.table`` says what they mean.
    """

    explorers: int | None = None
    block_size: int | None = None
    balance: Balance | None = None
    slice_s: float | None = None
    pool_size: int | None = None
    selection: Selection | None = None
    offload: Offload | None = None
    placement: Placement | None = None

    @classmethod
    def of(cls, options: SolveOptions) -> Tuning:
        """Return what all the options say of it."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: getattr(options, name) for name in names})


class SolveKeywords(TypedDict, total=False):
    """Keywords of ``dpbb.solve``, ``submit`` and ``resume``: single options."""

    engine: EngineName | Literal["auto", "cpu", "gpu", "pool", "reference"]
    threads: int | None
    workers: int | None
    scheduler: str | PathLike[str] | None
    branching: BranchingRule | Literal["minmin", "minbranch", "maxsum", "alternate", "front", "back"] | None  # noqa: E501
    branching_ub: int | None
    bound: str | None
    upper_bound: int | None
    cutoff: int | None
    strategy: Strategy | Literal["auto", "incumbent", "from-below"]
    initial: Iterable[SupportsIndex] | list[str] | tuple[str, ...] | None
    root_order: Iterable[SupportsIndex] | list[str] | tuple[str, ...] | None
    time_limit_s: float | None
    node_limit: int | None
    gap_limit: float | None
    heuristics: str
    heuristic_time_s: float | None
    heuristic_threads: int | None
    heuristic_start_s: float | None
    all_optima: bool
    optima_file: str | PathLike[str] | None
    report_interval_s: float
    checkpoint_interval_s: float
    checkpoint: str | PathLike[str] | None
    checkpoint_keep: int
    certificate: str | PathLike[str] | None
    units_per_seat: int
    explorers: int | None
    block_size: int | None
    balance: Balance | Literal["explode", "steal"] | None
    slice_s: float | None
    pool_size: int | None
    selection: Selection | Literal["hybrid", "best", "depth"] | None
    offload: Offload | Literal["parents", "nodes"] | None
    placement: Placement | Literal["global", "tables", "all"] | None
    estimates: Estimates | Literal["auto", "off"]
    seed: int
    verbosity: Verbosity | Literal["quiet", "normal", "verbose"]


class OptionKeywords(SolveKeywords, total=False):
    """Keywords of ``SolveOptions``: all options."""

    progress: StyleName


class EstimateKeywords(TypedDict, total=False):
    """Keywords of ``dpbb.estimate``: options that change an estimate."""

    branching: BranchingRule | Literal["minmin", "minbranch", "maxsum", "alternate", "front", "back"] | None  # noqa: E501
    branching_ub: int | None
    bound: str | None
    root_order: Iterable[SupportsIndex] | list[str] | tuple[str, ...] | None
    all_optima: bool
    engine: EngineName | Literal["auto", "cpu", "gpu", "pool", "reference"]
    threads: int | None
