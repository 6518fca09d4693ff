"""The state of a run as HTML, for notebooks."""

from collections.abc import Iterator

from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.progress.text import format_best, format_count, format_seconds, format_share
from dpbb.progress.words import (
    UPPER_BOUND,
    ends_text,
    goes_on,
    left_text,
    shares_text,
    state_kind,
    state_word,
)
from dpbb.text import markup


def snapshot_html(
    snapshot: Snapshot, *, dashboard: str | None = None, offset_s: float = 0.0
) -> str:
    """Return the state of a run, as a box of facts and the map of its search space.

    Parameters
    ----------
    dashboard
        Address of the page that shows the run live.
    offset_s
        Seconds from the start of the solve to the opening of the run.
    """
    legend = markup.legend(
        [
            ("finished", f"{format_share(snapshot.explored)} of n! explored"),
            (
                "leased",
                f"{snapshot.leased:,} unit{'s' * (snapshot.leased != 1)} in work",
            ),
            ("waiting", f"{snapshot.waiting:,} waiting"),
        ]
    )
    facts = [*_facts(snapshot)]
    if dashboard:
        facts.append(("dashboard", markup.link(dashboard)))
    elapsed = format_seconds(snapshot.seconds + offset_s)
    return markup.card(
        snapshot.instance,
        f"run {snapshot.run_id}, {state_word(snapshot)}, {elapsed}",
        [markup.table(facts), markup.strip(snapshot.spans), legend],
        color=_color(snapshot),
    )


def _color(snapshot: Snapshot) -> str:
    if snapshot.error is not None or snapshot.state is RunState.FAILED:
        return markup.BAD
    return markup.GOOD if state_kind(snapshot) == "proved" else markup.GOING


def _facts(snapshot: Snapshot) -> Iterator[tuple[str, object]]:
    yield "best", format_best(snapshot)
    if snapshot.value is not None and snapshot.ub != snapshot.value:
        yield UPPER_BOUND, f"{snapshot.ub:,}"
    if snapshot.lower_bound is not None:
        gap = "" if snapshot.gap is None else f", gap {snapshot.gap:.2%}"
        yield "lower bound", f"{snapshot.lower_bound:,}{gap}"
    nodes = format_count(snapshot.decomposed + snapshot.leaves)
    yield "nodes", f"{nodes}, {format_count(snapshot.nodes_per_second)} a second"
    if goes_on(snapshot):
        ends = ends_text(snapshot)
        yield "left", left_text(snapshot) + (f", done {ends}" if ends else "")
    busy = sum(seat.busy for seat in snapshot.seats)
    yield "seats", f"{busy:,} of {len(snapshot.seats):,} busy"
    if shares_text(snapshot):
        yield "turns", shares_text(snapshot)
    if snapshot.waits_for:
        yield "waiting", snapshot.waits_for
    checkpoint = snapshot.checkpoint
    if checkpoint is not None and checkpoint.last_s is not None:
        age = format_seconds(max(0.0, snapshot.seconds - checkpoint.last_s))
        risk = format_seconds(checkpoint.at_risk_s)
        yield "checkpoint", f"{age} old, work of {risk} at risk, {checkpoint.url}"
    if snapshot.error is not None:
        yield "error", snapshot.error


def start_html(
    value: int | None,
    bound: int | None,
    dashboard: str | None = None,
    waits_for: str = "",
) -> str:
    """Return what is known before there is a run."""
    facts = {
        "best": None if value is None else f"{value:,}",
        "lower bound": None if bound is None else f"{bound:,}",
        "waiting": waits_for,
        "dashboard": markup.link(dashboard) if dashboard else None,
    }
    known = [(name, fact) for name, fact in facts.items() if fact]
    return markup.card("dpbb", "starting", [markup.table(known)])
