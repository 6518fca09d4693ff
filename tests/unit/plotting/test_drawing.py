"""Plots by name, of results, and without Matplotlib."""

import builtins
import sys

import pytest
from matplotlib import pyplot

from dpbb.errors import DpbbError, OptionError
from dpbb.plotting import draw, figure_of
from dpbb.plotting.drawing import KINDS
from dpbb.plotting.scale import plot_scale, scale_curve
from tests.unit.plotting.samples import checkpoint, result, snapshot

DATA = {
    "gantt": result(),
    "convergence": result(),
    "intervals": checkpoint(),
    "speedup": [{"workers": 1, "seconds": 2.0}, {"workers": 2, "seconds": 1.0}],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_every_kind_becomes_a_file(kind, suffix, tmp_path):
    figure_of(DATA[kind], kind).savefig(tmp_path / f"plot.{suffix}")
    assert (tmp_path / f"plot.{suffix}").stat().st_size > 2000
    assert pyplot.get_fignums() == []


MANY_SERIES = [
    {"series": f"instance_{name}, many nodes", "gpus": n, "seconds": 1 / n}
    for name in "abcde"
    for n in (1, 2)
]


@pytest.mark.parametrize(("kind", "data"), [*DATA.items(), ("speedup", MANY_SERIES)])
def test_legend_and_title_cover_nothing(kind, data):
    figure = figure_of(data, kind)
    figure.canvas.draw()
    ax = figure.axes[0]
    axes, key = ax.get_window_extent(), ax.get_legend().get_window_extent()
    assert axes.y1 <= key.y0
    assert figure.bbox.x0 <= key.x0
    assert key.x1 <= figure.bbox.x1
    title = ax.title if ax.get_title() else ax._left_title
    if title.get_text():
        box = title.get_window_extent()
        assert key.y1 <= box.y0
        assert box.x1 <= figure.bbox.x1
    assert kind == "speedup" or title.get_text()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_axes_of_its_own(kind):
    ax = draw(DATA[kind], kind)
    assert pyplot.get_fignums() == [ax.figure.number]


def test_unknown_kinds_are_refused():
    with pytest.raises(OptionError, match=r"expected one of gantt, .* got 'pie'"):
        draw(result(), "pie")


def test_size_can_be_chosen():
    assert tuple(figure_of(result(), "gantt", size=(3, 2)).get_size_inches()) == (3, 2)
    shots = [snapshot(0.0), snapshot(1.0)]
    one, more = (figure_of(data, "intervals") for data in (shots[:1], shots))
    assert one.get_size_inches()[1] < more.get_size_inches()[1]


def test_results_plot_themselves(ax):
    assert result().plot(ax=ax) is ax
    assert "makespan" in ax.get_title("left")
    assert result().plot("convergence", log_time=True).get_xscale() == "log"
    pyplot.close("all")
    with pytest.raises(OptionError, match="expected one of gantt, convergence, got 'i"):
        result().plot("intervals")


@pytest.mark.parametrize("kind", KINDS)
def test_without_matplotlib_the_error_says_what_to_install(kind, monkeypatch):
    real = builtins.__import__

    def no_matplotlib(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    for name in list(sys.modules):
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    for call in (draw, figure_of):
        with pytest.raises(DpbbError, match=r"pip install 'dpbb\[plot\]'"):
            call(DATA[kind], kind)


def test_curve_of_the_simulation(ax, tmp_path):
    points = [("as measured", 16, 0.99, 0.1), ("as measured", 64, 0.95, 0.3)]
    points.append(("doubled", 64, 0.8, 0.5))
    assert scale_curve(points, 600, ax) is ax
    assert [list(line.get_ydata()) for line in ax.lines[:3]] == [
        [99, 95],
        [10, 30],
        [80],
    ]
    assert "600 s" in ax.get_xlabel()
    plot_scale(points, 600, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").stat().st_size > 2000


def test_what_is_reported_elsewhere_is_a_band_that_covers_nothing(ax):
    seats = (16, 64, 256, 1024, 4096, 16384)
    points = [("as measured", n, 0.99, 0.01 * i) for i, n in enumerate(seats)]
    scale_curve([*points, ("costs doubled", 4096, 0.91, 0.5)], 600, ax)
    ax.figure.canvas.draw()
    (band,), (label,) = ax.patches, ax.texts
    assert (band.get_x(), band.get_x() + band.get_width()) == (32, 128)
    box = label.get_window_extent()
    shade = ax.transData.transform([(32, 0), (128, 100)])
    assert shade[0, 0] <= box.x0 < box.x1 <= shade[1, 0]
    for line in ax.lines:
        xy = line.get_transform().transform(line.get_xydata())
        assert not any(box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1 for x, y in xy)


def test_band_is_left_out_where_no_seats_are_near(ax):
    scale_curve([("as measured", n, 0.9, 0.1) for n in (1024, 2048)], 600, ax)
    assert not ax.patches
    assert not ax.texts
