"""Plots by name, of results, and without Matplotlib."""

import builtins
import sys

import pytest
from matplotlib import pyplot

from dpbb.errors import DpbbError, OptionError
from dpbb.plotting import KINDS, draw, figure_of
from tests.unit.plotting.samples import checkpoint, result

DATA = {
    "gantt": result(),
    "convergence": result(),
    "intervals": checkpoint(),
    "speedup": [{"gpus": 1, "nodes_per_s": 1.0}, {"gpus": 2, "nodes_per_s": 2.0}],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_makes_axes_of_its_own(kind):
    ax = draw(DATA[kind], kind)
    assert pyplot.get_fignums() == [ax.figure.number]


def test_results_plot_themselves(ax):
    assert result().plot(ax=ax) is ax
    assert "makespan" in ax.get_title("left")
    assert result().plot("convergence").get_xscale() == "log"
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
