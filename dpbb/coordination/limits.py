"""When a run has reached a limit that its user has set, or needs no more tree."""

from dpbb.coordination.run_record import RunRecord
from dpbb.result import Termination


def reached(run: RunRecord, now: float) -> Termination | None:
    """Return the limit that ends a run now, if one does: of time, nodes or the gap.

    Or the bound that proves its incumbent. A limit that is None does not hold.
    """
    spec, options = run.spec, run.spec.options
    if now >= run.deadline:
        return Termination.TIME_LIMIT
    if options.node_limit is not None and run.decomposed >= options.node_limit:
        return Termination.NODE_LIMIT
    if spec.root_bound is not None:
        value = run.incumbent.value
        if value is not None and value <= spec.root_bound:
            return Termination.ROOT_BOUND
    if options.gap_limit is not None:  # else not asked for: it looks at every unit
        gap = run.gap
        # at 0 nothing is left but to prune the open roots: let them be exhausted
        if gap is not None and 0 < gap <= options.gap_limit:
            return Termination.GAP_LIMIT
    return None
