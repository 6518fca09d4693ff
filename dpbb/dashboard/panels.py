"""Panels of text: status line, trouble, seats, events, runs, devices, details."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from urllib.parse import quote

from bokeh.models import Div, InlineStyleSheet

from dpbb.coordination.snapshot import (
    CheckpointSnapshot,
    EventRecord,
    RunState,
    Snapshot,
)
from dpbb.dashboard.feed import DeviceRow, RunView
from dpbb.dashboard.look import Look, plural, size
from dpbb.progress.base import TROUBLE
from dpbb.progress.text import format_count, format_seconds
from dpbb.progress.words import (
    UPPER_BOUND,
    clock_text,
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

DASH = "–"  # noqa: RUF001

NAME_WIDTH = 40
"""Characters of a name on the status line; the others only on the mouse."""


class Panel:
    """Text that is sent only when it has changed."""

    hides = False  # whether it takes no place when it says nothing

    def __init__(self, look: Look) -> None:
        self.root = Div(
            text="",
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
            tile("time", format_seconds(now.seconds)),
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
    return DASH if number is None else f"{number:,}"


def _upper_bound(now: Snapshot) -> Iterator[str]:
    """Show the upper bound where it is not the incumbent's value."""
    if now.ub != now.value:
        yield tile(UPPER_BOUND, f"{now.ub:,}", "prunes; no schedule need have it")


def _gap(now: Snapshot) -> str:
    if now.gap is None:
        return DASH
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


_DAY_S = 20 * 3600


class Events(Panel):
    """What happened, the latest first."""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        rows = [_row(event, view) for event in reversed(view.snapshot.events)]
        if not rows:
            return '<span class="muted">nothing yet</span>'
        return f"<table>{''.join(rows)}</table>"


def _row(event: EventRecord, view: RunView) -> str:
    bad = event.kind in TROUBLE
    css = "bad" if bad else "good" if event.kind == "incumbent" else ""
    age = format_seconds(event.seconds)
    return (
        f'<tr><td class="when" title="{age} after the start">'
        f"{at(event.seconds, view)}</td>"
        f'<td class="kind {css}">{escape(event.kind)}</td>'
        f'<td class="text">{escape(event.text)}{_times(event, view)}</td></tr>'
    )


def at(seconds: float, view: RunView) -> str:
    """Write a moment of a run by the viewer's clock, or else its age then."""
    opened = view.snapshot.opened_at
    if opened is None:
        return format_seconds(seconds)
    day = view.snapshot.seconds > _DAY_S
    return clock_text(opened + seconds, view.offset_s, day=day, exact=True)


def _times(event: EventRecord, view: RunView) -> str:
    if event.count == 1:
        return ""
    since = at(event.since_s, view)
    return f' <span class="muted">({event.count:,} times since {since})</span>'


MOST_ROWS = 100
"""Devices that are listed; the page says how many more there are."""

TABLE_WIDTH, DEVICE_WIDTH = 24, 28
"""Characters of an instance, and of a seat or its model."""


def table(
    names: Sequence[str], rows: Iterable[Sequence[str]], classes: Sequence[str] = ()
) -> str:
    """Return an HTML table; columns whose name ends in ``#`` are of numbers.

    Parameters
    ----------
    rows
        Cells, HTML.
    classes
        One for each row.
    """
    kinds = ["number" if name.endswith("#") else "" for name in names]
    head = "".join(
        f'<th class="{kind}">{name.rstrip("#")}</th>'
        for name, kind in zip(names, kinds, strict=True)
    )
    body = "".join(
        f'<tr class="{classes[number] if classes else ""}">'
        + "".join(
            f'<td class="{kind}">{cell}</td>'
            for cell, kind in zip(row, kinds, strict=True)
        )
        + "</tr>"
        for number, row in enumerate(rows)
    )
    inside = f"<tr>{head}</tr>{body}"
    return f'<div class="wide"><table class="data">{inside}</table></div>'


def _more(count: int) -> str:
    more = count - MOST_ROWS
    return f'<div class="muted">and {more:,} more</div>' if more > 0 else ""


class Runs(Panel):
    """All runs that the scheduler knows, the newest first."""

    names = (
        "run", "instance", "state", "work left", "time#", "best#", "bound#",
        "nodes/s#", "seats#", "submitted by",
    )  # fmt: skip

    def text(self, view: RunView) -> str:
        """HTML of all runs; the one that is shown stands out."""
        shots = [one.snapshot for one in view.all_runs]
        shown = ["shown" if one.run_id == view.snapshot.run_id else "" for one in shots]
        return table(self.names, map(_run_cells, shots), shown)


def _run_cells(now: Snapshot) -> tuple[str, ...]:
    run = escape(now.run_id)
    seats = f"{sum(seat.busy for seat in now.seats):,} of {len(now.seats):,}"
    shared = shares_text(now)
    state = f'<span class="mark {state_kind(now)}"></span> {escape(state_word(now))}'
    return (
        f'<a href="?run={quote(now.run_id)}">{run}</a>',
        escape(middle(now.instance, TABLE_WIDTH)),
        state,
        escape(left_text(now)) or DASH,
        format_seconds(now.seconds),
        _or_dash(now.value),
        _or_dash(now.lower_bound),
        format_count(float(now.nodes_per_second)),
        escape(shared) if shared else seats,
        escape(now.submitter) or DASH,
    )


class Devices(Panel):
    """What explores on this cluster: model, rate and health."""

    names = (
        "seat", "model", "run", "nodes/s#", "utilization#", "memory#", "power#",
        "temperature#", "last report#",
    )  # fmt: skip

    def text(self, view: RunView) -> str:
        """HTML of all devices."""
        return devices_html(view.devices)


def devices_html(devices: Sequence[DeviceRow]) -> str:
    """Return a table of devices, those that were not heard of for longest first."""
    if not devices:
        return (
            '<span class="muted">No workers with dpbb are connected yet: '
            "<code>dask worker SCHEDULER</code> starts one.</span>"
        )
    cells = [_device_cells(one) for one in devices[:MOST_ROWS]]
    return table(Devices.names, cells) + _more(len(devices))


def _device_cells(one: DeviceRow) -> tuple[str, ...]:
    memory = DASH
    if one.memory is not None:
        used, whole = one.memory
        memory = size(int(used)) + (f" of {size(int(whole))}" if whole else "")
    rate = DASH if one.nodes_per_second is None else format_count(one.nodes_per_second)
    return (
        f'<span title="{escape(one.name)} on {escape(one.worker)}">'
        f"{escape(middle(one.name, DEVICE_WIDTH))}</span>",
        escape(middle(one.model, DEVICE_WIDTH)),
        escape(middle(one.instance, TABLE_WIDTH)) or DASH,
        rate,
        DASH if one.utilization is None else f"{one.utilization:.0f} %",
        memory,
        DASH if one.watts is None else f"{one.watts:.0f} W",
        DASH if one.celsius is None else f"{one.celsius:.0f} °C",
        DASH if one.heard_ago_s is None else f"{format_seconds(one.heard_ago_s)} ago",
    )


class Details(Panel):
    """What the run was asked to do, by whom, and where it is saved."""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        now, saved = view.snapshot, view.snapshot.checkpoint
        over = now.state in (RunState.FINISHED, RunState.FAILED)
        rows = [
            ("run", escape(now.run_id)),
            ("submitted by", escape(now.submitter) or DASH),
            ("opened", DASH if now.opened_at is None else at(0.0, view)),
        ]
        if saved is None:
            rows.append(("checkpoints", "none: it cannot go on after an outage"))
        else:
            rows += _checkpoints(saved, now.seconds, over=over)
        rows += [(name, escape(value)) for name, value in view.parameters]
        cells = "".join(
            f'<tr><td class="kind muted">{escape(name)}</td>'
            f'<td class="text">{value}</td></tr>'
            for name, value in rows
        )
        return f"<table>{cells}</table>"


def _checkpoints(
    saved: CheckpointSnapshot, now: float, *, over: bool
) -> Iterator[tuple[str, str]]:
    """Yield where a run is saved, how old that is, and what went wrong."""
    yield "checkpoints", f"{escape(saved.url)} on {escape(saved.host)}"
    last = "none yet"
    if saved.last_s is not None:
        ago = f"{format_seconds(now - saved.last_s)} ago"
        last = f"at {format_seconds(saved.last_s)}" if over else ago
        last += "" if saved.last_bytes is None else f", {size(saved.last_bytes)}"
    yield "last", f"{last} ({saved.written:,} written)"
    if not over:
        due = "being written now" if saved.saving else DASH
        if not saved.saving and saved.next_s is not None:
            due = f"in {format_seconds(saved.next_s - now)}"
        yield "next", f"{due} (every {format_seconds(saved.interval_s)})"
        most = f"{format_seconds(saved.promised_s)} at most"
        yield (
            "at risk",
            f"work of {format_seconds(saved.at_risk_s)} ({most}, if all goes well)",
        )
    if saved.failures:
        when = "" if saved.error_s is None else f" at {format_seconds(saved.error_s)}"
        what = escape(saved.error or "")
        yield "failed", f'<span class="bad">{saved.failures:,}{when}: {what}</span>'
    if saved.files:
        yield "kept", "<br>".join(escape(name) for name in saved.files)
