"""The documents, without a server: what they hold, and what they refuse."""

import asyncio
import re
from dataclasses import replace

import pytest

pytest.importorskip("bokeh")

from bokeh.document import Document

from dpbb.cluster.scheduler.monitor import parameters_of
from dpbb.coordination.snapshot import CheckpointSnapshot, RunState
from dpbb.dashboard import charts
from dpbb.dashboard.controls import Buttons, Picker
from dpbb.dashboard.feed import History, RunView
from dpbb.dashboard.look import DARK, LIGHT, asset
from dpbb.dashboard.page import PARTS, _missing, show
from dpbb.dashboard.panels import html
from dpbb.text.labels import Names
from tests.unit.cluster.support import tiny_spec
from tests.unit.dashboard.fakes import BASE, PROBLEM, FakeControls, FakeFeed, view


def data(root, index=0):
    """Columns of a chart's glyph."""
    return root.renderers[index].data_source.data


def document(feed, controls, **options):
    doc = Document()
    show(
        doc, feed, controls, template="{{ x }}", theme=None, variables={}, **options
    )  # fmt: skip
    return doc


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("look", [LIGHT, DARK], ids=lambda look: look.name)
def test_every_part_shows_every_kind_of_run(name, look):
    part = PARTS[name](look)
    for shown in (
        view(),
        view(value=None, permutation=None, gap=None, trajectory=(), seats=()),
        view(state=RunState.FINISHED, termination="exhausted", spans=()),
        view(state=RunState.FAILED, error="Traceback\nInvariantError: <wrong>"),
        RunView(BASE, History(), None),
    ):
        part.update(shown)


def test_the_page_holds_all_parts_and_finished_runs():
    feed = FakeFeed()
    feed.add("old", state=RunState.FINISHED, termination="exhausted")
    feed.add("new")
    doc = document(feed, FakeControls())
    names = {root.name for root in doc.roots}
    buttons = {"picker", "save", "stop", "message"}
    assert names == {*PARTS, *buttons, "first", "missing"}
    assert {*re.findall(r"roots\.(\w+)", asset("dpbb.html"))} == names
    picker = doc.get_model_by_name("picker")
    assert picker.value == "new"
    assert [run_id for run_id, _ in picker.options] == ["new", "old"]
    assert doc.template_variables["key"] == "secret"


def test_the_page_stays_with_the_run_that_goes_on():
    """Whatever is submitted or ends meanwhile; the newest is followed before."""
    feed = FakeFeed()
    picker = Picker(feed, None)
    picker.refresh()
    assert (picker.run_id, picker.held) == ("", False)
    over = {"state": RunState.FINISHED, "termination": "exhausted"}
    feed.add("first", **over)
    picker.refresh()
    assert (picker.run_id, picker.held) == ("first", False)
    feed.add("second")
    feed.add("third", **over)
    picker.refresh()
    assert (picker.run_id, picker.held) == ("second", True)
    feed.add("second", **over)
    feed.add("fourth")
    picker.refresh()
    assert picker.run_id == "second"
    picker.root.value = "first"
    picker.refresh()
    assert (picker.run_id, picker.held) == ("first", True)


def test_a_run_that_nobody_knows_is_said_to_be_missing():
    feed = FakeFeed()
    feed.add("new")
    picker = Picker(feed, "lost<i>")
    picker.refresh()
    assert (picker.run_id, picker.missing) == ("lost<i>", "lost<i>")
    doc = document(feed, FakeControls())
    assert doc.get_model_by_name("missing").text == ""
    text = _missing(picker)
    assert "does not know the run lost&lt;i&gt;" in text
    picker.root.value = "new"
    picker.refresh()
    assert _missing(picker) == ""


def click(buttons, **command):
    """What a browser sends for a click, and what comes of it."""

    def press():
        buttons._commands.data = {name: [value] for name, value in command.items()}

    async def act():
        buttons._controls.loop = asyncio.get_running_loop()
        await asyncio.to_thread(press)  # as Bokeh does, from 3.10 on
        await asyncio.gather(*map(asyncio.wrap_future, buttons._tasks))

    asyncio.run(act())
    buttons.update(view())
    return buttons.message.root.text


def test_commands_are_checked():
    controls = FakeControls()
    buttons = Buttons(LIGHT, controls)
    assert "Refused" in click(buttons, action="stop", key="", run="abc")
    assert "Refused" in click(buttons, action="stop", key="geheim", run="abc")
    assert click(buttons, action="explode", key="secret", run="abc")
    click(buttons, nonsense="x")
    assert controls.stopped == []
    assert "Stopped." in click(buttons, action="stop", key="secret", run="abc")
    assert controls.stopped == ["abc"]
    assert "no space left" in click(buttons, action="save", key="secret", run="abc")
    controls.refused = "not here"
    assert "not here" in click(buttons, action="stop", key="secret", run="xyz")
    assert controls.stopped == ["abc"]


def test_buttons_are_off_with_the_reason():
    controls = FakeControls()
    buttons = Buttons(LIGHT, controls)
    buttons.update(view())
    assert not buttons.stop.disabled
    assert buttons.save.disabled  # it writes no checkpoints
    buttons.update(view(checkpoint=CheckpointSnapshot("/there", "host", 60.0)))
    assert not buttons.save.disabled
    buttons.update(view(state=RunState.FINISHED))
    assert buttons.stop.disabled
    controls.refused = "this page has no <login>"
    buttons.update(view())
    assert buttons.stop.disabled
    assert "no &lt;login&gt;" in buttons.message.root.text


def test_text_of_others_is_escaped():
    shown = view(instance="<script>", error="x\n<script>")
    assert "<script>" not in html("status", shown)
    assert "<script>" not in html("trouble", shown)
    assert "<b>seat-1" not in html("events", shown)


def tiles(shown):
    """The status line: values by name."""
    text = html("status", shown)
    return dict(re.findall(r'<div class="tile"><span>(.*?)</span><b>(.*?)</b>', text))


def test_status_tells_the_incumbent_from_the_upper_bound():
    plain = tiles(view())
    assert (plain["incumbent"], plain["lower bound"], plain["gap"]) == (
        "12", "9", "25.00 %",
    )  # fmt: skip
    assert "upper bound" not in plain
    optima = tiles(view(value=189, ub=190, lower_bound=189, gap=0.0))
    assert (optima["incumbent"], optima["lower bound"], optima["gap"]) == (
        "189", "189", "0",
    )  # fmt: skip
    assert optima["upper bound"] == "190"
    cutoff = tiles(view(value=None, permutation=None, ub=2178, gap=None))
    assert (cutoff["incumbent"], cutoff["gap"]) == ("–", "–")  # noqa: RUF001
    assert cutoff["upper bound"] == "2,178"
    known = tiles(view(value=3699, ub=3679, lower_bound=3600, gap=99 / 3699))
    assert (known["incumbent"], known["gap"]) == ("3,699", "2.68 %")
    assert known["upper bound"] == "3,679"


def test_status_and_details_say_what_a_run_waits_for_and_how_often_it_tells():
    waits = view(waits_for="compiling on 1 worker")
    assert "<em>compiling on 1 worker</em>" in html("status", waits)
    ended = view(waits_for="compiling on 1 worker", state=RunState.FINISHED)
    assert "compiling" not in html("status", ended)
    spec = tiny_spec(report_interval_s=2.0)
    assert dict(parameters_of(spec))["report interval"] == "2 s"


def test_the_gantt_chart_is_the_incumbents_schedule():
    part = charts.Gantt(LIGHT)
    part.update(view())
    bars = data(part.root)
    # job 1 first: 0-1 and 1-5; job 0: 1-4 and 5-7; job 2: 4-6 and 7-9
    begins = {
        (int(job), int(machine)): (int(left), int(right))
        for job, machine, left, right in zip(
            bars["job"], bars["machine"], bars["left"], bars["right"], strict=True
        )
    }
    assert begins[1, 0] == (0, 1)
    assert begins[1, 1] == (1, 5)
    assert begins[0, 1] == (5, 7)
    assert begins[2, 1] == (7, 9)
    names = Names(("door", "frame", "panel"), ("cut", "weld"))
    named = replace(view(run_id="named"), problem=PROBLEM.with_names(names))
    part.update(named)
    bars = data(part.root)
    assert {*bars["job"]} == {*names.jobs}
    assert {*bars["name"]} == {*names.machines}
    part.update(view(permutation=None, value=None))
    assert len(data(part.root)["left"]) == 0
