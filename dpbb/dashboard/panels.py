"""Panels of text: status line, units and seats, events, checkpoints."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from bokeh.models import Div, InlineStyleSheet

from dpbb.coordination.snapshot import RunState
from dpbb.dashboard.text import duration, plural, short, size
from dpbb.text.names import middle, percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpbb.coordination.snapshot import (
        CheckpointSnapshot,
        EventRecord,
        Snapshot,
    )
    from dpbb.dashboard.feed import RunView
    from dpbb.dashboard.look import Look

_STYLE = """
:host { color: var(--text); font: 13px/1.4 Helvetica, Arial, sans-serif;
  width: calc(100%% - 10px); }
.bk-clearfix { width: 100%%; }
.tiles { display: flex; flex-wrap: wrap; gap: 4px 26px; align-items: flex-end; }
.tile b { display: block; font-weight: 600; font-size: 17px; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.tile span, .muted { color: var(--muted); font-size: 11px; }
.count { margin-right: 12px; white-space: nowrap; }
i { font-style: normal; color: var(--muted); display: inline-block; width: 44px; }
.tile span.state { border-radius: 9px; padding: 1px 8px; font-size: 11px;
  font-weight: 600; color: #fff; vertical-align: 2px; margin-left: 6px; }
.tile span.name { font-size: 17px; color: var(--text); }
.running { background: %(leased)s; } .finished { background: %(finished)s; }
.stopping { background: %(muted)s; } .failed { background: #b3261e; }
table { border-collapse: collapse; width: 100%%; }
td { padding: 1px 10px 1px 0; vertical-align: top; }
td.when { color: var(--muted); white-space: nowrap; text-align: right;
  font-variant-numeric: tabular-nums; }
td.kind { white-space: nowrap; font-weight: 600; }
td.text { width: 100%%; overflow-wrap: anywhere; }
.bad { color: var(--bad); } .good { color: var(--good); }
"""

NAME_WIDTH = 40
"""Characters of a name on the status line; the others only on the mouse."""


class _Panel:
    """Text that is sent only when it has changed."""

    without_run = ""  # what it says before there is any

    def __init__(self, look: Look) -> None:
        colors = {
            "leased": "#b46a1f",
            "finished": look.finished,
            "muted": "#6b737b",
        }
        self.root = Div(
            text=self.without_run,
            sizing_mode="stretch_width",
            stylesheets=[InlineStyleSheet(css=_STYLE % colors)],
        )

    def show(self, text: str) -> None:
        """Set the text."""
        if self.root.text != text:
            self.root.text = text

    def update(self, view: RunView) -> None:
        """Show a run."""
        self.show(self.text(view))

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        raise NotImplementedError


def _tile(name: str, value: str) -> str:
    return f'<div class="tile"><span>{name}</span><b>{value}</b></div>'


class Status(_Panel):
    """One line: what is solved, how far it is, what is left."""

    without_run = '<span class="muted">No run yet; the first one appears here.</span>'

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        now = view.snapshot
        state = now.state.value
        label = state
        if now.state is RunState.FINISHED and now.termination:
            label = now.termination.replace("_", " ")
        name = now.instance or now.run_id
        shown = escape(middle(name, NAME_WIDTH))
        badge = (
            f'<span class="name" title="{escape(name)}">{shown}</span>'
            f'<span class="state {state}">{escape(label)}</span>'
        )
        tiles = [
            _tile("instance", badge),
            _tile("incumbent", _or_dash(now.value)),
            _tile("lower bound", _or_dash(now.lower_bound)),
            _tile("gap", _gap(now)),
            *_threshold(now),
            _tile("time", duration(now.seconds)),
            _tile("nodes", short(now.decomposed + now.leaves)),
            _tile("nodes/s", short(float(_mean_or_now(now)))),
            _tile("explored", percent(now.explored)),
        ]
        if now.state is RunState.RUNNING and now.estimate_s is not None:
            tiles.append(_tile("estimated left", f"about {duration(now.estimate_s)}"))
        elif now.state is RunState.RUNNING and now.estimate_nodes is not None:
            tiles.append(
                _tile("estimated left", f"about {short(now.estimate_nodes)} nodes")
            )
        error = ""
        if now.waits_for:
            error = f'<div class="bad">waiting: {escape(now.waits_for)}</div>'
        if now.error:
            last = now.error.strip().splitlines()[-1]
            error = f'<div class="bad">{escape(last)}</div>'
        return f'<div class="tiles">{"".join(tiles)}</div>{error}'


def _mean_or_now(now: Snapshot) -> float:
    """Rate of the last seconds; of the whole run once it is over."""
    if now.state in (RunState.RUNNING, RunState.STOPPING) or not now.seconds:
        return now.nodes_per_second
    return (now.decomposed + now.leaves) / now.seconds


def _or_dash(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"  # noqa: RUF001


def _threshold(now: Snapshot) -> Iterator[str]:
    """Show the pruning threshold where it is not the incumbent's value."""
    if now.ub != now.value:
        yield _tile("pruning threshold", f"{now.ub:,}")


def _gap(now: Snapshot) -> str:
    if now.gap is None:
        return "–"  # noqa: RUF001
    return "0" if now.gap == 0 else f"{now.gap:.2%}".replace("%", " %")


class Counts(_Panel):
    """Units and seats in numbers."""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        now = view.snapshot
        states = Counter(seat.state for seat in now.seats)
        donors = sum(seat.donations > 0 for seat in now.seats)
        workers = len({seat.worker for seat in now.seats})
        engines = Counter(seat.engine for seat in now.seats)
        kinds = ", ".join(f"{count} {name}" for name, count in engines.items())
        where = f"on {plural(workers, 'worker')}"
        silent = [("silent", states["silent"])] if states["silent"] else []
        seats = _line(
            ("busy", states["busy"]),
            ("idle", states["idle"]),
            *silent,
            ("donated", donors),
            ("lost", now.seats_lost),
        )
        units = _line(
            ("leased", now.leased),
            ("waiting", now.waiting),
            ("made", now.made),
            ("donation" if now.donations == 1 else "donations", now.donations),
            ("lost", now.requeues),
        )
        note = f"{where}: {kinds}" if kinds else where
        return (
            f"<div><i>Seats</i>{seats}<span>{escape(note)}</span></div>"
            f"<div><i>Units</i>{units}</div>"
        )


def _line(*counts: tuple[str, int]) -> str:
    return "".join(
        f'<span class="count"><b>{count:,}</b> {name}</span>' for name, count in counts
    )


_CLASSES = {
    "incumbent": "good",
    "lost": "bad",
    "no-seat": "bad",
    "refused": "bad",
    "seat-lost": "bad",
    "failed": "bad",
    "checkpoint-failed": "bad",
}


class Events(_Panel):
    """What happened, the latest first."""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        rows = [
            f'<tr><td class="when">{duration(event.seconds)}</td>'
            f'<td class="kind {_CLASSES.get(event.kind, "")}">{escape(event.kind)}</td>'
            f'<td class="text">{escape(event.text)}{_times(event)}</td></tr>'
            for event in reversed(view.snapshot.events)
        ]
        if not rows:
            return '<span class="muted">nothing yet</span>'
        return f"<table>{''.join(rows)}</table>"


def _times(event: EventRecord) -> str:
    if event.count == 1:
        return ""
    since = duration(event.since_s)
    return f' <span class="muted">({event.count:,} times since {since})</span>'


class Checkpoints(_Panel):
    """Where a run is saved, how old that is, and what went wrong."""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        saved = view.snapshot.checkpoint
        if saved is None:
            return (
                '<span class="muted">This run writes none: start it with '
                "<code>checkpoint=</code> and it can go on after an outage.</span>"
            )
        over = view.snapshot.state in (RunState.FINISHED, RunState.FAILED)
        return _checkpoints(saved, view.snapshot.seconds, over=over)


def _checkpoints(saved: CheckpointSnapshot, now: float, *, over: bool) -> str:
    last = "none yet"
    if saved.last_s is not None:
        at = f"at {duration(saved.last_s)}"
        last = at if over else f"{duration(now - saved.last_s)} ago"
        details = []
        if saved.last_bytes is not None:
            details.append(size(saved.last_bytes))
        if saved.last_duration_s is not None:
            details.append(f"in {saved.last_duration_s:.2f} s")
        if details:
            last += f", {' '.join(details)}"
    rows = [
        ("where", f"{escape(saved.url)} on {escape(saved.host)}"),
        ("last", last),
    ]
    if not over:
        due = "–"  # noqa: RUF001
        if saved.saving:
            due = "being written now"
        elif saved.next_s is not None:
            due = f"in {duration(saved.next_s - now)}"
        rows.append(("next", f"{due} (every {duration(saved.interval_s)})"))
        most = f"{duration(saved.promised_s)} at most"
        risk = f"work of {duration(saved.at_risk_s)} ({most}, if all goes well)"
        rows.append(("at risk", risk))
    rows.append(("written", f"{saved.written:,}"))
    if saved.failures:
        when = ""
        if saved.error_s is not None:
            ago = f"{duration(now - saved.error_s)} ago"
            when = f", the last at {duration(saved.error_s)}" if over else f", {ago}"
        what = escape(saved.error or "")
        rows.append(
            ("failed", f'<span class="bad">{saved.failures:,}{when}: {what}</span>')
        )
    if saved.files:
        rows.append(("kept", "<br>".join(escape(name) for name in saved.files)))
    cells = "".join(
        f'<tr><td class="kind muted">{name}</td><td class="text">{value}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"
