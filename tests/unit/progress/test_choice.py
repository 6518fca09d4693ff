from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from dpbb.errors import OptionError
from dpbb.options import ProgressStyle
from dpbb.progress import JsonLines, Progress, ProgressPrinter, make_progress
from dpbb.progress.live import LiveProgress
from dpbb.progress.notebook import NotebookProgress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def chosen(style, stream):
    return type(make_progress(ProgressStyle(style), stream=stream))


@pytest.fixture(autouse=True)
def term(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setitem(sys.modules, "IPython", None)


def test_auto_is_live_on_a_terminal_and_rows_in_a_pipe():
    assert chosen("auto", Terminal()) is LiveProgress
    assert chosen("auto", io.StringIO()) is ProgressPrinter


@pytest.mark.parametrize("name", ["dumb", "unknown", ""])
def test_terminals_that_cannot_move_the_cursor_get_rows(monkeypatch, name):
    monkeypatch.setenv("TERM", name)
    assert chosen("auto", Terminal()) is ProgressPrinter
    with pytest.raises(OptionError, match=f"expected a terminal .*TERM='{name}'"):
        chosen("live", Terminal())


@pytest.mark.parametrize(
    ("style", "kind"),
    [("plain", ProgressPrinter), ("json", JsonLines), ("none", Progress)],
)
def test_a_style_can_be_forced(style, kind):
    for stream in (Terminal(), io.StringIO()):
        assert chosen(style, stream) is kind


@pytest.mark.parametrize(
    ("shell", "kind"),
    [
        (SimpleNamespace(kernel=object()), NotebookProgress),
        (SimpleNamespace(), LiveProgress),  # IPython in a terminal
        (None, LiveProgress),  # imported, but nobody's shell
    ],
)
def test_notebooks_are_told_by_their_kernel(monkeypatch, shell, kind):
    module = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    assert chosen("auto", Terminal()) is kind
