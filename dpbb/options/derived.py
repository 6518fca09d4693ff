"""Types that follow from the options table; ``docs/make_options.py`` writes this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from dpbb.options.table import (
    Balance,
    BranchingRule,
    EngineName,
    ProgressStyle,
    Selection,
    Strategy,
    Tuning,
    Verbosity,
)

# fmt: off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from typing import Literal, SupportsIndex, TypeAlias

    AnyEngine: TypeAlias = EngineName | Literal["auto", "cpu", "gpu", "pool", "reference"]  # noqa: E501
    StyleName: TypeAlias = ProgressStyle | Literal["auto", "live", "plain", "json", "none"]  # noqa: E501


class SolveKeywords(TypedDict, total=False):
    """Keywords of ``dpbb.solve``, ``submit`` and ``resume``: single options."""

    time_limit_s: float | None
    no_improvement_s: float | None
    node_limit: int | None
    gap_limit: float | None
    engine: AnyEngine
    bound: str | None
    branching: BranchingRule | Literal["minmin", "minbranch", "maxsum", "alternate", "front", "back", "own"] | None  # noqa: E501
    strategy: Strategy | Literal["auto", "incumbent", "from-below"]
    all_optima: bool
    upper_bound: int | None
    cutoff: int | None
    initial: Iterable[SupportsIndex] | list[str] | tuple[str, ...] | None
    heuristics: str | Callable[..., Any]
    heuristic_time_s: float | None
    seed: int
    workers: int | None
    threads: int | None
    scheduler: str | PathLike[str] | None
    certificate: str | PathLike[str] | None
    checkpoint: str | PathLike[str] | None
    checkpoint_interval_s: float
    optima_file: str | PathLike[str] | None
    report_interval_s: float
    verbosity: Verbosity | Literal["quiet", "normal", "verbose"]
    tuning: Tuning | Mapping[str, Any]


class OptionKeywords(SolveKeywords, total=False):
    """Keywords of ``SolveOptions``: all options."""

    progress: StyleName


class EstimateKeywords(TypedDict, total=False):
    """Keywords of ``dpbb.estimate``: options that change an estimate."""

    bound: str | None
    branching: BranchingRule | Literal["minmin", "minbranch", "maxsum", "alternate", "front", "back", "own"] | None  # noqa: E501
    all_optima: bool
    tuning: Tuning | Mapping[str, Any]
    engine: AnyEngine
    threads: int | None


class TuningKeywords(TypedDict, total=False):
    """Keywords of ``Tuning``."""

    explorers: int | None
    block_size: int | None
    balance: Balance | Literal["explode", "steal"] | None
    slice_s: float | None
    units_per_seat: int
    pool_size: int | None
    selection: Selection | Literal["hybrid", "best", "depth"] | None
    heuristic_threads: int | None
    checkpoint_keep: int
    branching_ub: int | None
    root_order: Iterable[SupportsIndex] | list[str] | tuple[str, ...] | None
