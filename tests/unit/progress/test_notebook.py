from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import IPython.display
import pytest

from dpbb.coordination.snapshot import RunState
from dpbb.progress import notebook
from dpbb.progress.notebook import NotebookProgress, snapshot_html
from dpbb.result import Proof, Result, Status, Termination
from tests.unit.progress.fakes import BUSY, SNAPSHOT

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


def test_a_result_that_is_the_value_of_the_cell_is_left_to_the_notebook(
    cell, clock, monkeypatch
):
    asked = []
    events = SimpleNamespace(
        register=lambda name, function: asked.append((name, function)),
        unregister=lambda name, function: asked.remove((name, function)),
    )
    shell = SimpleNamespace(events=events)
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    for value, is_left in ((result(9), True), (result(10), False), (None, False)):
        progress = NotebookProgress()
        progress.done(result(9))
        ((name, cell_ended),) = asked
        assert name == "post_run_cell"
        cell_ended(SimpleNamespace(result=value))
        assert asked == []
        assert (cell.html[-1] == "") == is_left


def result(makespan):
    return Result(
        status=Status.OPTIMAL,
        termination=Termination.EXHAUSTED,
        proof=Proof.TREE_EXHAUSTED,
        makespan=makespan,
        permutation=(0, 1),
        lower_bound=makespan,
    )


def test_without_html_there_is_a_line(cell, clock):
    NotebookProgress().update(SNAPSHOT)
    assert "running, 12.4s, best 2,297, " in cell.pages[0]["text/plain"]


def test_a_page_of_a_run_has_what_is_asked_for():
    page = snapshot_html(BUSY, dashboard="http://host/dpbb", offset_s=1.0)
    for text in (
        "ta021",
        "running, 62m06s",
        "2,297",
        "gap 2.83%",
        "41.2 M",
        "3.30 M nodes/s",
        "about 2 to 5 h; done ",
        "8 of 8 busy",
        "14.0s old, at risk 15.0s, /scratch/run",
        "href='http://host/dpbb'",
        "3.10% of n! explored",
    ):
        assert text in page


@pytest.mark.parametrize(
    ("changes", "color"),
    [
        ({}, "56,139,253"),
        ({"state": RunState.FINISHED, "termination": "exhausted"}, "46,160,67"),
        ({"state": RunState.FINISHED, "termination": "stopped"}, "56,139,253"),
        ({"state": RunState.FAILED, "error": "<b>boom"}, "218,54,51"),
    ],
)
def test_the_border_tells_how_it_ended(changes, color):
    page = snapshot_html(replace(SNAPSHOT, **changes))
    assert f"border-left:4px solid rgb({color})" in page
    assert "<b>boom" not in page
    assert ("boom" in page) == ("error" in changes)


def test_names_are_escaped():
    page = snapshot_html(replace(SNAPSHOT, instance="<img src=x>"))
    assert "<img" not in page


def test_what_is_waited_for_is_shown(cell, clock):
    progress = NotebookProgress()
    progress.waiting("compiling the heuristics")
    assert "compiling the heuristics" in cell.html[-1]
    assert cell.pages[-1]["text/plain"].endswith("waiting: compiling the heuristics")
    progress.waiting("")
    assert "compiling" not in cell.html[-1]
    clock.now = 5.0
    progress.update(replace(SNAPSHOT, waits_for="no workers connected"))
    assert "no workers connected" in cell.html[-1]
    clock.now = 6.0
    progress.update(SNAPSHOT)
    assert "no workers connected" not in cell.html[-1]
