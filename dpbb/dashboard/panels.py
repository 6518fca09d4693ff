"""Panels of text: status line, banner, units and seats, checkpoints."""

from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape

from bokeh.models import Div, InlineStyleSheet

from dpbb.coordination.snapshot import CheckpointSnapshot, RunState, Snapshot
from dpbb.dashboard.feed import RunView
from dpbb.dashboard.look import Look, duration, plural, size
from dpbb.progress.text import format_count
from dpbb.progress.words import (
    UPPER_BOUND,
    ends_text,
    goes_on,
    left_text,
    shares_text,
    state_kind,
    state_word,
    troubles,
)
from dpbb.text.names import middle, percent

_STYLE = """
:host { color: var(--text); font: 13px/1.4 Helvetica, Arial, sans-serif;
  width: calc(100%% - 10px); }
.bk-clearfix { width: 100%%; }
.tiles { display: flex; flex-wrap: wrap; gap: 4px 26px; align-items: flex-start; }
.tile b { display: block; font-weight: 600; font-size: 17px;
  font-variant-numeric: tabular-nums; }
.tile span, .tile em, .muted { color: var(--muted); font-size: 11px; }
.tile em { display: block; font-style: normal; }
.tile b small { font-size: 12px; font-weight: 400; color: var(--muted); }
.count { margin-right: 12px; white-space: nowrap; }
i { font-style: normal; color: var(--muted); display: inline-block; width: 44px; }
.tile span.state { border-radius: 9px; padding: 1px 8px; font-size: 11px;
  font-weight: 600; color: #fff; vertical-align: 2px; margin-left: 6px; }
.tile span.name { font-size: 17px; color: var(--text); overflow-wrap: anywhere; }
.running { background: %(leased)s; } .proved { background: %(proved)s; }
.stopping, .stopped { background: %(stopped)s; } .limit { background: %(limit)s; }
.failed { background: %(failed)s; }
.mark { display: inline-block; width: 8px; height: 8px; border-radius: 4px; }
.banner { border: 1px solid var(--bad); border-left-width: 5px; border-radius: 4px;
  padding: 4px 10px; background: var(--card); overflow-wrap: anywhere; }
th { text-align: left; font-weight: 400; color: var(--muted); font-size: 11px;
  padding: 1px 10px 1px 0; white-space: nowrap; }
td.number, th.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
a { color: inherit; } tr.shown td { font-weight: 600; }
table { border-collapse: collapse; width: 100%%; }
table.data { width: auto; min-width: 80%%; } table.data td { white-space: nowrap; }
.wide { overflow-x: auto; }
td { padding: 1px 10px 1px 0; vertical-align: top; }
td.when { color: var(--muted); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
td.kind { white-space: nowrap; font-weight: 600; }
td.text { width: 100%%; overflow-wrap: anywhere; }
.bad { color: var(--bad); } .good { color: var(--good); }
"""

STATE_COLORS = {
    "leased": "#a85c12",
    "proved": "#2a7f5f",
    "stopped": "#6b737b",
    "limit": "#2f6fa7",
    "failed": "#b3261e",
}
"""Behind white words, in both themes."""

NAME_WIDTH = 40
"""Characters of a name on the status line; the others only on the mouse."""


class Panel:
    """Text that is sent only when it has changed."""

    without_run = ""  # what it says before there is any
    hides = False  # whether it takes no place when it says nothing

    def __init__(self, look: Look) -> None:
        self.root = Div(
            text=self.without_run,
            sizing_mode="stretch_width",
            visible=not self.hides,
            stylesheets=[InlineStyleSheet(css=_STYLE % STATE_COLORS)],
        )

    def show(self, text: str) -> None:
        """Set the text."""
        if self.root.text != text:
            self.root.text = text
        if self.hides and self.root.visible != bool(text):
            self.root.visible = bool(text)

    def update(self, view: RunView) -> None:
        """Show a run."""
        self.show(self.text(view))

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        raise NotImplementedError


def tile(name: str, value: str, note: str = "") -> str:
    """Return a value (HTML) with its name above it, and small print below."""
    small = f"<em>{escape(note)}</em>" if note else ""
    return f'<div class="tile"><span>{name}</span><b>{value}</b>{small}</div>'


class Banner(Panel):
    """What somebody should look at now; nothing where all is well."""

    hides = True

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        return banner("bad", troubles(view.snapshot))


def banner(kind: str, lines: Iterable[str]) -> str:
    """Return lines in a box of their own; nothing without any."""
    shown = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return f'<div class="banner {kind}" role="alert">{shown}</div>' if shown else ""


class Status(Panel):
    """The line at the top: what runs, how far it is, and what is left."""

    without_run = '<span class="muted">No run yet.</span>'

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        now = view.snapshot
        name = now.instance or now.run_id
        shown = escape(middle(name, NAME_WIDTH))
        badge = (
            f'<span class="name" title="{escape(name)}">{shown}</span>'
            f'<span class="state {state_kind(now)}">{escape(state_word(now))}</span>'
        )
        tiles = [
            tile("instance", badge, shares_text(now)),
            *_left(view),
            tile("incumbent", _or_dash(now.value), _distance(view)),
            tile("lower bound", _or_dash(now.lower_bound)),
            tile("gap", _gap(now)),
            *_upper_bound(now),
            tile("time", duration(now.seconds)),
            tile("nodes", format_count(now.decomposed + now.leaves)),
            tile("nodes/s", format_count(float(_mean_or_now(now)))),
            *_energy(now),
            tile(
                "explored",
                f'<small title="of all permutations: a share of leaves, not of the '
                f'work">{percent(now.explored)} of n!</small>',
            ),
        ]
        return f'<div class="tiles">{"".join(tiles)}</div>'


def _left(view: RunView) -> Iterator[str]:
    """Show what is left, always as a range, and when the run is probably over."""
    now = view.snapshot
    if not goes_on(now):
        return
    ends = ends_text(now, view.offset_s)
    yield tile("work left", escape(left_text(now)), f"done {ends}" if ends else "")


def _distance(view: RunView) -> str:
    """How far the incumbent is from the best value that anybody has published."""
    known, value = view.best_known, view.snapshot.value
    if known is None:
        return ""
    if value is None or value == known:
        return f"best known {known:,}"
    return f"best known {known:,}, {value - known:+,} ({value / known - 1:+.2%})"


def _energy(now: Snapshot) -> Iterator[str]:
    """Energy in kWh, and the time that GPUs have worked, where there is any."""
    hours = f"{now.gpu_seconds / 3600:.3g} GPU-hours" if now.gpu_seconds else ""
    if now.energy_j is not None:
        yield tile("energy", f"{now.energy_j / 3.6e6:.3g} kWh", hours)
    elif hours:
        yield tile("GPUs", hours)


def _mean_or_now(now: Snapshot) -> float:
    """Rate of the last seconds; of the whole run once it is over."""
    if goes_on(now) or not now.seconds:
        return now.nodes_per_second
    return (now.decomposed + now.leaves) / now.seconds


def _or_dash(number: int | None) -> str:
    return "–" if number is None else f"{number:,}"  # noqa: RUF001


def _upper_bound(now: Snapshot) -> Iterator[str]:
    """Show the upper bound where it is not the incumbent's value."""
    if now.ub != now.value:
        yield tile(UPPER_BOUND, f"{now.ub:,}", "prunes; no schedule need have it")


def _gap(now: Snapshot) -> str:
    if now.gap is None:
        return "–"  # noqa: RUF001
    return "0" if now.gap == 0 else f"{now.gap:.2%}".replace("%", " %")


class Counts(Panel):
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
            ("made", now.units),
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


class Checkpoints(Panel):
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
    rows = [("where", f"{escape(saved.url)} on {escape(saved.host)}"), ("last", last)]
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
