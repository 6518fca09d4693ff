from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import IPython.display
import pytest

from dpbb.progress import notebook
from dpbb.progress.notebook import NotebookProgress, snapshot_html
from tests.unit.progress.fakes import SNAPSHOT

RESULT = SimpleNamespace(_repr_html_=lambda: "<b>the result</b>", summary=lambda: "r")


class Cell:
    """What IPython was asked to display."""

    def __init__(self):
        self.pages = []

    def display(self, content, *, raw, display_id):
        assert raw
        assert display_id
        self.pages.append(content)
        return SimpleNamespace(update=lambda content, raw: self.pages.append(content))

    @property
    def html(self):
        return [page["text/html"] for page in self.pages]


@pytest.fixture
def cell(monkeypatch):
    cell = Cell()
    monkeypatch.setattr(IPython.display, "display", cell.display)
    return cell


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(notebook, "time", clock)
    return clock


def test_one_display_is_updated_twice_a_second_and_ends_with_the_result(cell, clock):
    progress = NotebookProgress()
    progress.note("dashboard http://127.0.0.1:8787/dpbb")
    assert "starting" in cell.html[0]
    assert "http://127.0.0.1:8787/dpbb" in cell.html[0]
    for step in range(41):  # two seconds
        clock.now = 1 + step / 20
        progress.update(replace(SNAPSHOT, seconds=clock.now))
    assert len(cell.pages) == 1 + 5
    progress.finish(replace(SNAPSHOT, seconds=3.1))  # also when it comes early
    assert "3.1s" in cell.html[-1]
    progress.done(RESULT)
    progress.close()
    assert cell.pages[-1] == {"text/html": "<b>the result</b>", "text/plain": "r"}


def test_after_an_error_the_last_state_is_shown(cell, clock):
    progress = NotebookProgress()
    progress.update(SNAPSHOT)
    progress.update(replace(SNAPSHOT, seconds=12.5, value=1234))
    progress.close()
    assert "1,234" in cell.html[-1]
    progress.close()
    assert len(cell.pages) == 2


def test_names_are_escaped():
    page = snapshot_html(replace(SNAPSHOT, instance="<img src=x>"))
    assert "<img" not in page
