"""Runs that go on: their limits and seconds, by a clock of the test's own."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace

import numpy as np
import pytest

import dpbb
from dpbb.cli import main
from dpbb.cluster.scheduler.restoring import going_on
from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder, load_checkpoint
from dpbb.coordination.coordinator import Coordinator
from dpbb.coordination.format import from_bytes, to_bytes
from dpbb.coordination.from_below import Below, Step
from dpbb.errors import CheckpointError, InvariantError, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import OPTIONS, SolveOptions
from dpbb.problem import StartSearch
from dpbb.result import Termination, Totals
from dpbb.solving.arguments import called, planned
from dpbb.solving.plan import Plan
from dpbb.solving.results import result_of
from dpbb.solving.resume import going_on as plan_going_on
from dpbb.solving.resume import plan_of_saved, read_saved
from dpbb.solving.start import with_heuristics
from tests.unit.coordination.world import TIMES, World, as_file, parts_of
from tests.unit.solving.test_plan import ORDER, VALUE, outcome, plan_of


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


def below(**options):
    plan = plan_of(initial=ORDER, strategy="from-below", workers=0, **options)
    return replace(plan, below=Below(Step(1, plan.root_bound)))


def saved_after(plan, seconds):
    """Return the checkpoint of a tree after some seconds; it has explored nothing."""
    now = time.monotonic()
    spec = plan.spec(now, "cpu")
    coordinator = Coordinator(spec, now=now, saved=plan.saved)
    return from_bytes(to_bytes(coordinator.checkpoint(now + seconds)))


def going_on_from(saved, options):
    """Return the plan of a call that goes on now."""
    return plan_of_saved(saved, options, time.monotonic())


def next_tree(plan, seconds):
    """End the first tree, without a schedule; the plan of the next."""
    cutoff = plan.upper_bound
    over = outcome(
        value=VALUE, permutation=ORDER, ub=cutoff, lower_bound=cutoff,
        totals=Totals(seconds=seconds),
    )  # fmt: skip
    return plan.after(over, result_of(plan, over, 0.0))


def test_the_limit_of_a_resumed_run_counts_from_then_for_all_trees(clock):
    saved = saved_after(below(), 7000.0)
    clock.now += 9000
    plan = going_on_from(saved, below(time_limit_s=3600.0).options)
    assert plan.spec(clock.now).time_limit_s == 3600
    clock.now += 153
    assert next_tree(plan, 7153.0).spec(clock.now).time_limit_s == 3600 - 153


def test_seconds_of_earlier_trees_count_once(clock):
    began = clock.now
    plan = below()
    clock.now += 100
    plan = next_tree(plan, 100.0)
    saved = saved_after(plan, 53.0)
    assert saved.totals.seconds == 53
    clock.now += 5053
    again = going_on_from(saved, below().options)
    assert clock.now - again.began == 153
    assert clock.now - began == 5153
    over = outcome(
        lower_bound=again.upper_bound,
        ub=again.upper_bound,
        totals=Totals(seconds=saved.totals.seconds + 7),
    )
    result = result_of(again, over, again.opened(clock.now) - again.began)
    assert (result.seconds, result.tree_seconds) == (160, 160)
    assert result.bounds[-1].seconds == 160


def test_a_scheduler_that_restarts_leaves_a_resumed_run_its_limit(clock):
    how = {"heuristics": "none", "workers": 0, "time_limit_s": 3600.0}
    plan = plan_of(initial=ORDER, **how)
    first = saved_after(plan, 3500.0)
    assert going_on(first, "/x").time_limit_s == 100
    clock.now += 9000
    plan = going_on_from(first, plan.options)
    assert plan.spec(clock.now).time_limit_s == 3600
    second = saved_after(plan, 600.0)
    assert going_on(second, "/x").time_limit_s == 3000
    late = saved_after(plan, 4000.0)
    assert going_on(late, "/x").time_limit_s == 0


HERE = {"workers": 0, "progress": "none"}


def foreign(folder, **places):
    """Leave a run that kept a journal, as somebody may change it: a folder, a file."""
    problem = FlowShopProblem(FlowShopInstance("six", np.array(TIMES)))
    options = SolveOptions(heuristics="none", upper_bound=60, certificate="proof.gz")
    plan = with_heuristics(Plan(problem, "six", options, 0.0), StartSearch())
    world = World(plan.spec(0.0, "reference"), ("a",))
    world.round()
    saved = world.coordinator.checkpoint(world.now)
    written = folder / CheckpointFolder(str(folder), keep=1).write(saved)[0]
    copy = folder.with_suffix(".dpbb")
    copy.write_bytes(to_bytes(saved))
    for path in (written, copy):
        header, sections = parts_of(path.read_bytes())
        spec = header["spec"]
        for options in spec["options"], spec["request"]["options"]:
            options.update(places)
        path.write_bytes(as_file(header, sections))
    return written, copy


def test_no_place_is_taken_from_a_checkpoint(tmp_path):
    """Nothing is written, or connected to, that was not given again."""
    places = {name for name, row in OPTIONS.items() if row.kind.place}
    assert places == {"scheduler", "checkpoint", "certificate", "optima_file"}
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    named = dict.fromkeys(places, str(victim)) | {"scheduler": "tcp://127.0.0.1:9"}
    path, copy = foreign(tmp_path / "run", all_optima=True, **named)
    for source in (path, copy):
        spec = load_checkpoint(str(source)).spec
        assert not places & spec.request.options.keys()
        assert spec.options.checkpoint is None
    options = read_saved(copy, None, {}).options
    assert all(getattr(options, name) is None for name in places)
    result = dpbb.resume(copy, **HERE)
    assert result.termination is Termination.EXHAUSTED
    assert result.certificate is not None
    assert victim.read_bytes() == b"mine"
    again = tmp_path / "proof.json"
    dpbb.resume(copy, certificate=again, **HERE)
    assert dpbb.verify(again).ok
    names = {one.name for one in tmp_path.iterdir()}
    assert names == {"victim", "run", "run.dpbb", "proof.json"}


def test_a_run_goes_on_in_the_folder_that_it_is_read_from(tmp_path):
    path, _ = foreign(tmp_path / "run", checkpoint="/elsewhere")
    for source in (path, path.parent):
        options = read_saved(source, None, {}).options
        assert options.checkpoint == str(path.parent)
        options = read_saved(source, None, {"checkpoint": "other"}).options
        assert options.checkpoint == "other"
        options = read_saved(source, None, {"workers": 0}).options
        assert options.checkpoint is None


def test_a_call_goes_on_in_its_folder_by_its_own_options(tmp_path):
    """Until it is to begin anew; another tree or instance is refused."""
    folder = tmp_path / "run"
    foreign(folder)

    def planned_again(times=TIMES, *, fresh=False, **options):
        options = {"heuristics": "none", "upper_bound": 60, **options}
        problem = FlowShopProblem(FlowShopInstance("shop", np.array(times)))
        how = {"checkpoint": str(folder), "engine": "reference", **options}
        call = called(None, None, how, None)
        return plan_going_on(call, planned(problem, call), fresh=fresh)

    plan = planned_again(node_limit=7, upper_bound=99)
    assert plan.options.node_limit == 7
    assert not plan.saved.finished
    assert plan.spec(0.0).upper_bound == 60
    for name, value in (
        ("branching", "front"), ("bound", "lb2"), ("cutoff", 60), ("all_optima", True),
        ("tuning", {"branching_ub": 3}), ("strategy", "from-below"),
    ):  # fmt: skip
        which = name if name != "tuning" else "branching_ub"
        ub = None if name == "cutoff" else 60
        with pytest.raises(OptionError, match=f"^{which}: expected .*, got "):
            planned_again(upper_bound=ub, **{name: value})
    with pytest.raises(CheckpointError, match=r"expected instance six .*, got shop"):
        planned_again(np.array(TIMES) + 1)
    assert planned_again(TIMES[::-1], fresh=True).saved is None
    assert not list(folder.glob("*"))
    assert planned_again().saved is None
    with pytest.raises(OptionError, match="fresh: expected"):
        planned_again(fresh=True, checkpoint=None)


def test_a_smaller_upper_bound_is_taken_above_that_of_a_step_from_below(tmp_path):
    path = tmp_path / "x.dpbb"
    path.write_bytes(to_bytes(saved_after(below(), 1.0)))
    with pytest.raises(OptionError, match=f"at most {VALUE}, .* got {VALUE + 1}"):
        read_saved(path, None, {"upper_bound": VALUE + 1})
    assert below().upper_bound < VALUE - 1
    plan = read_saved(path, None, {"upper_bound": VALUE - 1})
    assert plan.options.upper_bound == VALUE - 1
    assert plan.spec(0.0).upper_bound == below().upper_bound


@pytest.mark.parametrize("tuning", ["balance=steal", None, {"balance": "no"}])
def test_bad_tuning_of_a_run_that_goes_on_is_refused(tmp_path, tuning):
    path, _ = foreign(tmp_path / "run")
    with pytest.raises(OptionError, match="expected"):
        read_saved(path, None, {"tuning": tuning})


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"\xff", b"[" * 200_000, b'{"a": NaN}', b"9" * 5000],
)
def test_a_header_that_is_no_object_of_json_is_refused(tmp_path, body):
    path = tmp_path / "x.dpbb"
    path.write_bytes(as_file(body))
    with pytest.raises(CheckpointError, match=r"x\.dpbb: expected a header"):
        dpbb.resume(path, **HERE)


GONE = object()
OTHERS = (None, "x", -1, 10**30, math.inf, math.nan, [], {}, [[]], True, 0.5, {"a": 1})


def places_in(value, at=()):
    """Yield where values of a header are; of long lists the first ones."""
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list) and at[:3] != ("spec", "problem", "times"):
        items = list(enumerate(value))[:5]
    for key, inner in items:
        yield from places_in(inner, (*at, key))


def changed(header, at, value):
    copy = json.loads(json.dumps(header))
    *above, last = at
    inner = copy
    for key in above:
        inner = inner[key]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return copy


def test_whatever_a_header_says_nothing_but_a_documented_error_comes_of_it(tmp_path):
    """Fields that are gone, of another type, huge; the checksum is that of the header.

    What is accepted goes on to its end.
    """
    _, path = foreign(tmp_path / "run")
    header, sections = parts_of(path.read_bytes())
    refused = number = 0
    for at in places_in(header):
        number += 1
        turned = [OTHERS[(number + 5 * i) % len(OTHERS)] for i in range(4)]
        for value in (GONE, *turned):
            path.write_bytes(as_file(changed(header, at, value), sections))
            try:
                dpbb.resume(path, time_limit_s=5, **HERE).to_json()
            except (CheckpointError, InvariantError):
                refused += 1
    assert number > 100
    assert refused > 2.5 * number


def test_no_text_of_a_checkpoint_steers_a_terminal(tmp_path, capsys):
    _, path = foreign(tmp_path / "run")
    header, sections = parts_of(path.read_bytes())
    places = ("spec", "instance"), ("run_id",), ("seats",), ("error",)
    for at in places:
        evil = "x\x1b]0;y\x07\nmakespan 1"
        value = {evil: "cpu"} if at == ("seats",) else evil
        path.write_bytes(as_file(changed(header, at, value), sections))
        main(["resume", str(path), "--workers", "0"])
        told = "".join(capsys.readouterr())
        assert at == ("error",) or "no more checkpoints are written" in told
        assert "\x1b" not in told
        assert "\nmakespan 1" not in told


def test_decomposed_nodes_are_those_that_closed_and_open_subtrees_say(tmp_path):
    _, path = foreign(tmp_path / "run")
    header, sections = parts_of(path.read_bytes())
    for name, change in (("decomposed", 1000), ("decomposed", 1), ("leaves", 1000)):
        copy = json.loads(json.dumps(header))
        copy["totals"][name] += change
        path.write_bytes(as_file(copy, sections))
        with pytest.raises(CheckpointError, match=name):
            load_checkpoint(str(path))
