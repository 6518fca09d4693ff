"""Tables: the runs, the devices, the incumbents and the parameters of a run."""

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import quote

from dpbb.coordination.snapshot import Snapshot
from dpbb.dashboard.events import at
from dpbb.dashboard.feed import DeviceRow, Overview, RunView
from dpbb.dashboard.look import duration, size
from dpbb.dashboard.panels import Panel
from dpbb.progress.text import format_count
from dpbb.progress.words import left_text, shares_text, state_kind, state_word
from dpbb.text.names import middle

MOST_ROWS = 100
"""Devices and incumbents that are listed; the page says how many more there are."""

NAME_WIDTH, DEVICE_WIDTH = 24, 28
"""Characters of an instance, and of a seat or its model."""

DASH = "–"  # noqa: RUF001


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
        """HTML of all runs; the one that is shown stands out. A campaign is above."""
        shots = [one.snapshot for one in view.all_runs]
        shown = ["shown" if one.run_id == view.snapshot.run_id else "" for one in shots]
        told = [one.overview for one in view.all_runs if one.overview is not None]
        above = _campaign(told[0], shots) if told else ""
        return above + table(self.names, map(_run_cells, shots), shown)


CAMPAIGN = ("instance", "nodes, about#", "state", "bound#", "best#", "left", "seats#")


def _campaign(told: Overview, shots: Sequence[Snapshot]) -> str:
    """Table of a campaign; what its newest runs are now replaces what was told."""
    now = {one.instance: one for one in reversed(shots)}
    rows = [_campaign_cells(row, now.get(row[0])) for row in told.rows[:MOST_ROWS]]
    title = f"campaign {escape(middle(told.name, NAME_WIDTH))}"
    text = f"{told.done:,} of {told.of:,} instances done when its newest run began"
    more = told.of - len(rows)
    rest = f'<div class="muted">and {more:,} more</div>' if more > 0 else ""
    return f"<div><b>{title}</b>: {text}</div>{table(CAMPAIGN, rows)}{rest}"


def _campaign_cells(
    row: tuple[str, float | None, str, int | None, int | None], now: Snapshot | None
) -> tuple[str, ...]:
    name, nodes, state, lower, upper = row
    left = seats = ""
    if now is not None:
        state, lower, upper = state_word(now), now.lower_bound, now.value
        left, seats = left_text(now), f"{sum(one.busy for one in now.seats):,}"
    return (
        escape(middle(name, NAME_WIDTH)),
        DASH if nodes is None else format_count(float(nodes)),
        escape(state),
        DASH if lower is None else f"{lower:,}",
        DASH if upper is None else f"{upper:,}",
        escape(left) or DASH,
        seats or DASH,
    )


def _run_cells(now: Snapshot) -> tuple[str, ...]:
    run = escape(now.run_id)
    seats = f"{sum(seat.busy for seat in now.seats):,} of {len(now.seats):,}"
    shared = shares_text(now)
    state = f'<span class="mark {state_kind(now)}"></span> {escape(state_word(now))}'
    return (
        f'<a href="?run={quote(now.run_id)}">{run}</a>',
        escape(middle(now.instance, NAME_WIDTH)),
        state,
        escape(left_text(now)) or DASH,
        duration(now.seconds),
        DASH if now.value is None else f"{now.value:,}",
        DASH if now.lower_bound is None else f"{now.lower_bound:,}",
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
        escape(middle(one.instance, NAME_WIDTH)) or DASH,
        rate,
        DASH if one.utilization is None else f"{one.utilization:.0f} %",
        memory,
        DASH if one.watts is None else f"{one.watts:.0f} W",
        DASH if one.celsius is None else f"{one.celsius:.0f} °C",
        DASH if one.heard_ago_s is None else f"{duration(one.heard_ago_s)} ago",
    )


class Incumbents(Panel):
    """Schedules that were found, the best first, with when and how."""

    names = ("value#", "better by#", "at", "after#", "method", "where")

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        steps = view.snapshot.trajectory
        if not steps:
            return '<span class="muted">none yet</span>'
        befores = [None, *(step.value for step in steps[:-1])]
        rows = [
            (
                f"{step.value:,}",
                DASH if before is None else f"{before - step.value:,}",
                at(step.seconds, view),
                duration(step.seconds),
                escape(step.method),
                escape(step.source.partition(",")[2].strip()) or DASH,
            )
            for step, before in zip(steps, befores, strict=True)
        ]
        return table(self.names, rows[: -MOST_ROWS - 1 : -1]) + _more(len(rows))


class Parameters(Panel):
    """What the run was asked to do, by whom, and with which versions."""

    def text(self, view: RunView) -> str:
        """HTML of a run."""
        now = view.snapshot
        rows = [
            ("run", now.run_id),
            ("submitted by", now.submitter or DASH),
            ("opened", DASH if now.opened_at is None else at(0.0, view)),
            *view.parameters,
        ]
        cells = "".join(
            f'<tr><td class="kind muted">{escape(name)}</td>'
            f'<td class="text">{escape(value)}</td></tr>'
            for name, value in rows
        )
        return f"<table>{cells}</table>"
