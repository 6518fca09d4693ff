from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PolyCollection

import dpbb
from dpbb.errors import DpbbError, OptionError
from dpbb.plotting import gantt
from dpbb.plotting.gantt_chart import BAR, gantt_figure
from dpbb.text.clock import Clock
from dpbb.text.labels import Names
from tests.unit.plotting.samples import INSTANCE, ORDER, result, schedule_of


def bars(ax):
    """(job's position, machine) -> (begin, end), read off the picture."""
    found = {}
    rows = [part for part in ax.collections if isinstance(part, PolyCollection)]
    for machine, row in enumerate(rows):
        for position, path in enumerate(row.get_paths()):
            x, y = path.vertices[:, 0], path.vertices[:, 1]
            assert (y.min() + y.max()) / 2 == pytest.approx(machine)
            found[position, machine] = (x.min(), x.max())
    return found


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize(
    "data",
    [
        result(), result().schedule(), (INSTANCE, ORDER),
        (INSTANCE.times.tolist(), list(ORDER)),
    ],
    ids=["result", "schedule", "instance", "list"],
)  # fmt: skip
def test_every_operation_is_a_bar(data, ax):
    assert gantt(data, ax) is ax
    schedule = schedule_of(INSTANCE.times, ORDER)
    assert bars(ax) == {
        (position, machine): (schedule.start[job, machine], schedule.end[job, machine])
        for position, job in enumerate(ORDER)
        for machine in range(4)
    }
    assert sorted(texts(ax)) == sorted("0123" * 4)


def test_critical_path_is_marked_from_0_to_the_makespan(ax):
    gantt((INSTANCE, ORDER), ax)
    (line,) = (line for line in ax.lines if line.get_gid() == "critical path")
    x, y = line.get_data()
    assert x[0] == 0
    assert x[-1] == schedule_of(INSTANCE.times, ORDER).makespan
    assert np.all(np.diff(x) >= 0)
    assert np.all(np.diff(y) >= 0)
    machines = [round(value + BAR / 2 - 0.06) for value in y]
    assert (machines[0], machines[-1]) == (0, 3)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (result(operations=None), DpbbError, "expected a result with a schedule"),
        ((INSTANCE, (0, 1)), OptionError, "expected 4 jobs, got 2"),
    ],
)
def test_what_has_no_schedule_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        gantt(data)
    assert pyplot.get_fignums() == []


def test_jobs_that_a_machine_has_at_the_same_time_share_its_row(ax):
    shop = dpbb.FlowShop([[1, 9, 2], [1, 8, 2], [4, 1, 2]], unlimited=[1])
    gantt((shop, (0, 1, 2)), ax)
    drawn = [
        (path.vertices[:, 0].min(), *np.unique(path.vertices[:, 1]).round(3))
        for row in ax.collections
        for path in row.get_paths()
    ]
    oven = [one for one in drawn if 0.5 < one[1] < 1.5]
    assert oven == [(1, 0.58, 0.86), (2, 0.86, 1.14), (6, 1.14, 1.42)]
    heights = {round(high - low, 3) for _, low, high in drawn}
    assert heights == {0.28, 0.84}


def test_times_with_a_clock_are_dates_on_the_axis(ax):
    clock = Clock(datetime(2026, 5, 4, 6, 30), "min")
    schedule = replace(
        schedule_of(INSTANCE.times * 60, ORDER), names=Names(clock=clock)
    )
    gantt(schedule, ax)
    ticks = [clock.at(time) for time in ax.get_xticks()]
    assert len(ticks) > 1
    assert all(tick.minute == 0 for tick in ticks)
    assert ax.get_xlim()[0] == 0
    assert legend(ax)[1] == f"end {clock.text(schedule.makespan)}"
    chart = gantt_figure(replace(schedule, due=schedule.end[:, -1] - 1))
    origin = clock.origin.replace(tzinfo=UTC)
    assert chart.x_range.start == origin.timestamp() * 1000
    minutes = (chart.x_range.end - chart.x_range.start) / 60_000
    assert minutes == pytest.approx(1.01 * schedule.makespan)
    drawn = {type(one.glyph).__name__: one for one in chart.renderers}
    assert len(drawn["Scatter"].data_source.data["x"]) == len(ORDER)
    assert len(drawn["Text"].view.filter.booleans) == INSTANCE.times.size
    assert chart.legend[0] in chart.below  # not above the operations
