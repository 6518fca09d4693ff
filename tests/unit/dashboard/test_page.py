"""The documents, without a server: what they hold, and what they refuse."""

import asyncio
import re
from dataclasses import replace

import pytest

pytest.importorskip("bokeh")

from bokeh.document import Document

from dpbb.coordination.snapshot import CheckpointSnapshot, EventRecord, RunState
from dpbb.dashboard import charts
from dpbb.dashboard.controls import Buttons, Picker
from dpbb.dashboard.feed import DeviceRow, History, RunView
from dpbb.dashboard.look import DARK, LIGHT, asset
from dpbb.dashboard.page import PARTS, _missing, show
from dpbb.dashboard.panels import html
from tests.oracle import TinyFlowShop
from tests.unit.dashboard.fakes import BASE, FakeControls, FakeFeed, seat, view


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
    picker = doc.get_model_by_name("picker")
    assert picker.value == "new"
    assert [run_id for run_id, _ in picker.options] == ["new", "old"]
    assert doc.template_variables["key"] == "secret"


def test_signs_of_life_are_of_the_document():
    """Of a model that no root refers to, a browser hears nothing."""
    feed = FakeFeed()
    feed.add("new")
    doc = document(feed, FakeControls())
    columns = [set(model.data) for model in doc.models if hasattr(model, "data")]
    assert {"run", "empty", "at"} in columns
    assert {"offset_min"} in columns


def test_before_there_is_a_run_the_page_says_so():
    doc = document(FakeFeed(), FakeControls())
    assert doc.template_variables["empty"]
    assert "a processor" in doc.get_model_by_name("first").text
    assert doc.get_model_by_name("save").disabled
    assert doc.get_model_by_name("stop").disabled


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


def test_the_question_names_the_run_that_is_stopped():
    controls = FakeControls()
    buttons = Buttons(LIGHT, controls)
    assert buttons._asked.data["run"] == [""]
    buttons.update(view(instance="ta056", run_id="2a10"))
    asked = buttons._asked.data
    assert asked["run"] == ["2a10"]
    assert asked["stop"][0].startswith("Stop ta056 (2a10)? It writes no checkpoints")
    saved = CheckpointSnapshot("/a folder", "host", 60.0)
    buttons.update(view(instance="ta056", run_id="2a10", checkpoint=saved))
    assert buttons._asked.data["stop"] == [
        "Stop ta056 (2a10)? `dpbb resume '/a folder'` goes on from its last checkpoint."
    ]


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


@pytest.mark.parametrize(
    ("changes", "kind", "word"),
    [
        ({}, "running", "running"),
        ({"state": "finished", "termination": "exhausted", "lower_bound": 12},
         "proved", "optimal, proved"),
        ({"state": "finished", "termination": "root_bound", "lower_bound": 12},
         "proved", "optimal, proved"),
        ({"state": "finished", "termination": "exhausted", "value": None, "ub": 2178},
         "proved", "nothing below 2,178, proved"),
        ({"state": "finished", "termination": "time_limit"}, "limit", "time limit"),
        ({"state": "finished", "termination": "stopped"}, "stopped", "stopped"),
        ({"state": "failed", "termination": "stopped"}, "failed", "failed"),
    ],
)  # fmt: skip
def test_ends_have_their_words_and_colors(changes, kind, word):
    state = RunState(changes.pop("state", "running"))
    text = html("status", view(state=state, **changes))
    assert f'<span class="state {kind}">{word}</span>' in text
    assert re.search(rf"\.{kind}[ ,]", asset("panels.css"))


def test_trouble_has_a_banner():
    assert html("trouble", view()) == ""
    lost = EventRecord(9.0, "seat-lost", "0/cpu0 left with its worker")
    text = html("trouble", view(waits_for="no workers <connected>", events=(lost,)))
    assert "waiting: no workers &lt;connected&gt;" in text
    assert "seat lost 1.0s ago: 0/cpu0 left" in text
    saved = CheckpointSnapshot("/there", "host", 2.0, last_s=4.0, at_risk_s=6.0)
    assert "checkpoint is 6.0s old (one every 2.0s); work of 6.0s at risk" in (
        html("trouble", view(checkpoint=saved))
    )
    assert html("trouble", view(checkpoint=replace(saved, last_s=7.0))) == ""
    none = replace(saved, last_s=None)
    assert "no checkpoint yet after 6.0s" in html("trouble", view(checkpoint=none))
    resumed = replace(none, at_risk_s=3.0)  # just now: the run is older
    assert html("trouble", view(checkpoint=resumed)) == ""
    failed = replace(saved, error="disk full", error_s=9.0)
    assert "the last checkpoint failed: disk full" in html(
        "trouble", view(checkpoint=failed)
    )
    over = view(checkpoint=failed, state=RunState.FINISHED, events=(lost,))
    assert html("trouble", over) == ""
    error = view(state=RunState.FAILED, error="Traceback\nInvariantError: <wrong>")
    assert "InvariantError: &lt;wrong&gt;" in html("trouble", error)


def test_tables_of_runs_devices_and_details():
    device = DeviceRow(
        "a100/cuda1", "tcp://10.0.0.1:1", "NVIDIA <H200>", "ta056", 4.2e9, 99.0,
        (2e9, 141e9), 650.4, 61.0, 1.5,
    )  # fmt: skip
    shown = replace(
        view(submitter="me on host", run_id="x&y"),
        devices=(device,),
        parameters=(("bound", "lb1"),),
    )
    shown = replace(shown, all_runs=(shown, view(run_id="old")))
    runs = html("runs", shown)
    assert 'href="?run=x%26y">x&amp;y</a>' in runs
    assert runs.count('<tr class="shown">') == 1
    for text in ("a100/cuda1", "NVIDIA &lt;H200&gt;", "4.20 G", "99 %", "650 W",
                 "61 °C", "2.00 GB of 141 GB", "1.5s ago"):  # fmt: skip
        assert text in html("devices", shown)
    name = "tcp://node-17.cluster.university.example:45678/cuda3"
    long = html("device_table", (replace(device, name=name),))
    assert f'title="{name} on tcp://10.0.0.1:1">tcp://node-17.' in long
    assert ":45678/cuda3</span>" in long  # which one it is
    many = replace(shown, devices=(device,) * 4096)
    assert "and 3,996 more" in html("devices", many)
    saved = CheckpointSnapshot(
        "/there", "host", 60.0, last_s=4.0, last_bytes=1234, next_s=70.0, written=2,
        failures=1, error="<full>", error_s=9.0, files=("two", "one"),
    )  # fmt: skip
    kept = replace(shown, snapshot=replace(shown.snapshot, checkpoint=saved))
    details = html("details", kept)
    for text in ("me on host", "lb1", "6.0s ago, 1.23 kB (2 written)", "&lt;full&gt;"):
        assert text in details
    assert "/there" not in html("details", shown)


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
    part.update(view(permutation=None, value=None))
    assert len(data(part.root)["left"]) == 0


def test_a_problem_without_schedules_is_shown_as_its_order():
    part = charts.Gantt(LIGHT)
    part.update(RunView(BASE, History(), TinyFlowShop(((3, 2), (1, 4), (2, 2)))))
    bars = data(part.root)
    assert list(bars["job"]) == [0, 1, 2]
    assert list(bars["left"]) == [1, 0, 2]
    assert list(bars["right"]) == [2, 1, 3]
    assert part.root.xaxis[0].axis_label == "position"
    part.update(view(run_id="another"))
    assert part.root.xaxis[0].axis_label == "time in the instance's units"
    assert part.root.yaxis[0].axis_label == "machine"


def test_nothing_of_the_run_before_stays_on_the_gantt_chart():
    part = charts.Gantt(LIGHT)
    line = part.root.center[-1]
    assert part.root.title.text == "no run yet"
    assert not any(axis.visible for axis in part.root.axis)
    part.update(view())
    assert line.visible
    assert line.location == 9
    assert all(axis.visible for axis in part.root.axis)
    none = {"value": None, "permutation": None, "gap": None, "ub": 2178}
    part.update(view(run_id="other", **none))
    assert part.root.title.text == "no incumbent yet"
    assert not line.visible
    assert not any(axis.visible for axis in part.root.axis)
    over = {"state": RunState.FINISHED, "termination": "exhausted"}
    part.update(view(run_id="other", **none, **over))
    assert part.root.title.text == "there is no schedule below 2,178"
    over["termination"] = "time_limit"
    part.update(view(run_id="third", **none, **over))
    assert part.root.title.text == "no schedule was found"


def test_an_upper_bound_below_the_incumbent_is_drawn():
    part = charts.Incumbent(LIGHT)
    (box,) = part.root.legend
    assert [item.label.value for item in box.items] == [
        "incumbent", "lower bound", "upper bound",
    ]  # fmt: skip
    part.update(view(value=None, permutation=None, trajectory=(), ub=99))
    assert data(part.root)["y"] == []
    assert data(part.root, 3)["y"] == [99, 99]
    assert box.items[-1].visible
    assert not box.items[0].visible  # nobody has a schedule
    part.update(view(ub=11))
    assert data(part.root, 3)["y"] == [11, 11]
    part.update(view())
    assert data(part.root, 3)["y"] == []
    assert not box.items[-1].visible
    assert box.items[0].visible
    assert data(part.root)["y"] == [14, 12, 12]
    assert data(part.root)["x"] == [0.0, 2.0, 10.0]


def test_many_seats_are_shown_in_bins():
    part = charts.Seats(LIGHT)
    part.update(view())
    assert len(data(part.root)["top"]) == 2
    many = tuple(seat(number, rate=1e6 + number) for number in range(1000))
    part.update(view(seats=many))
    assert len(data(part.root)["top"]) == charts.N_BINS
    assert sum(data(part.root)["top"]) == 1000
    assert part.root.yaxis[0].axis_label == "seats"
    part.update(view())
    assert part.root.yaxis[0].axis_label == "nodes/s"


def test_rates_of_the_engines_make_up_the_total():
    part = charts.Rates(LIGHT)
    part.update(view())
    engines, total = data(part.root), data(part.root, 1)
    assert engines["engine"] == ["cpu", "gpu"]
    assert engines["ys"][1][-1] == pytest.approx(1e5)
    assert total["y"][-1] == pytest.approx(150_000.7)
