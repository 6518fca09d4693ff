import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from dpbb.errors import DpbbError, OptionError
from dpbb.flowshop import FlowShopInstance
from dpbb.plotting import gantt, gantt_figure
from dpbb.plotting.gantt_chart import BAR, gantt_size
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
        result(),
        result().schedule(),
        (INSTANCE, ORDER),
        (INSTANCE.times.tolist(), list(ORDER)),
    ],
    ids=["result", "schedule", "instance", "list"],
)
def test_every_operation_is_a_bar(data, ax):
    assert gantt(data, ax) is ax
    schedule = schedule_of(INSTANCE.times, ORDER)
    assert bars(ax) == {
        (position, machine): (schedule.start[job, machine], schedule.end[job, machine])
        for position, job in enumerate(ORDER)
        for machine in range(4)
    }
    assert sorted(texts(ax)) == sorted("0123" * 4)
    makespan = schedule.makespan
    assert legend(ax) == [
        "critical path",
        f"end {makespan}",
        "first job (1)",
        "last job (3)",
    ]
    assert ax.get_xlabel() == "time (in units of the instance)"
    assert ax.get_ylim() == (3.5, -0.5)


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


@pytest.mark.parametrize(("n_jobs", "labels"), [(8, True), (50, True), (500, False)])
def test_labels_are_where_they_fit(n_jobs, labels):
    times = np.random.default_rng(1).integers(1, 100, (n_jobs, 20))
    data = (times, range(n_jobs))
    figure = Figure(figsize=gantt_size(data), layout="constrained")
    ax = gantt(data, figure.subplots())
    figure.canvas.draw()
    places = bars(ax)
    assert len(places) == n_jobs * 20
    assert bool(ax.texts) == labels
    for text in ax.texts:
        box = text.get_window_extent()
        job = int(text.get_text())
        begin, end = places[job, round(text.get_position()[1])]
        left, right = ax.transData.transform([(begin, 0), (end, 0)])[:, 0]
        assert left <= box.x0
        assert box.x1 <= right


def test_zero_times_and_a_single_operation_are_drawn(ax):
    gantt(([[0]], [0]), ax)
    assert bars(ax) == {(0, 0): (0, 0)}


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


def test_names_are_in_chart_and_page(ax):
    names = Names(("panel", "door", "frame", "shelf"), ("saw", "drill", "sand", "oil"))
    shop = FlowShopInstance("joinery", INSTANCE.times, names)
    gantt((shop, ORDER), ax)
    assert "first job (door)" in legend(ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(names.machines)
    source = gantt_figure((shop, ORDER)).renderers[0].data_source.data
    schedule = schedule_of(INSTANCE.times, ORDER)
    for job, on, left, right in zip(
        *(source[column] for column in ("job", "on", "left", "right")), strict=True
    ):
        at = names.jobs.index(job), names.machines.index(on)
        assert (left, right) == (schedule.start[at], schedule.end[at])
    assert list(source["width"]).count(2.0) == 7  # the critical path


def test_a_result_is_a_page_on_request():
    chart = result().plot(backend="bokeh", critical=False)
    assert chart.title.text.startswith("joinery: makespan 36")
    assert set(chart.renderers[0].data_source.data["line"]) == {"white"}
    with pytest.raises(OptionError, match="backend: expected 'matplotlib', or 'bokeh'"):
        result().plot("convergence", backend="bokeh")
