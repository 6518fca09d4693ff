"""Plots by name, of results, and without Matplotlib."""

import builtins
import sys

import numpy as np
import pytest
from matplotlib import pyplot

from dpbb.errors import DpbbError, OptionError
from dpbb.plotting import draw, figure_of
from dpbb.plotting.drawing import KINDS
from dpbb.result.schedule import Schedule
from dpbb.text.labels import Names
from tests.unit.plotting.samples import checkpoint, result

DATA = {
    "gantt": result(),
    "convergence": result(),
    "intervals": checkpoint(),
    "speedup": [{"workers": 1, "seconds": 2.0}, {"workers": 2, "seconds": 1.0}],
}


MANY_SERIES = [
    {"series": f"instance_{name}, many nodes", "gpus": n, "seconds": 1 / n}
    for name in "abcde"
    for n in (1, 2)
]


LONG_NAMES = Schedule(
    (1, 0), *np.array([[[2], [0]], [[5], [2]]]), Names((40 * "n", 50 * "n"))
)
"""Its legend has two rows."""


@pytest.mark.parametrize(
    ("kind", "data"), [*DATA.items(), ("speedup", MANY_SERIES), ("gantt", LONG_NAMES)]
)
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
