"""What a kill costs by the timestamps of a run's checkpoints."""

import argparse
import json
import math
import os
import threading

import pytest

import dpbb
from dpbb.cluster.storage.checkpoint_folder import MANY_ROOTS, CheckpointFolder
from dpbb.coordination import saves
from dpbb.coordination.format import from_bytes, to_bytes
from dpbb.errors import OptionError
from dpbb.flowshop.problem import FlowShopProblem
from tests.unit.coordination import world as world_module
from tests.unit.coordination.world import World, spec_of, tiny
from tests.worlds.loss import frontier, suite
from tests.worlds.loss.timeline import Saved, losses, newest, read_folder


def saved(*pairs):
    """Checkpoints by what they cover and when they are there."""
    return [Saved(covered, covered, durable, 0, 0, 0) for covered, durable in pairs]


def test_the_loss_grows_until_the_next_checkpoint_is_there():
    found = saved((10, 11), (14, 16), (20, 21))
    worst, mean = losses(found, until=23)
    assert worst == 21 - 14
    # the loss grows from 1 to 6, from 2 to 7, and from 1 to 3
    assert mean == pytest.approx((5 * 3.5 + 5 * 4.5 + 2 * 2) / 12)
    assert losses(found, until=13) == (3, 2)
    assert losses(found, until=23, since=22) == (3, 2.5)
    with pytest.raises(ValueError, match="expected a checkpoint"):
        losses(found, until=11)


def test_the_newest_is_that_which_is_there():
    found = saved((10, 11), (14, 16))
    assert newest(found, 10.9) is None
    assert newest(found, 15.9) is found[0]
    assert newest(found, 16) is found[1]


def test_a_folder_says_what_its_checkpoints_cover(tmp_path):
    world = World(spec_of(tiny()), ["a"])
    world.assign()
    world.start("a")
    folder = CheckpointFolder(str(tmp_path), keep=9)
    for _ in range(2):
        world.now += 5
        world.report("a", full=True)
        world.now += 2
        folder.write(world.coordinator.checkpoint(world.now))
    opened = os.stat(tmp_path / "checkpoint-000002.dpbb").st_ctime - 20
    one, two = read_folder(tmp_path, opened)
    assert two.durable_s == pytest.approx(20)
    assert one.durable_s <= two.durable_s
    assert two.taken_s > two.covered_s > one.covered_s
    assert two.n_roots > 0
    assert two.n_bytes > 100
    assert two.nodes >= one.nodes


def test_runs_beside_each_other_share_gpus_out():
    devices = suite.Devices(["0", "1", "2"])
    with devices.taken(1) as one, devices.taken(2) as two:
        assert [*one, *two] == ["0", "1", "2"]
        assert devices.free == []
        third = threading.Thread(target=take_and_leave, args=(devices,))
        third.start()
        assert third.is_alive()  # until there is one
    third.join(timeout=30)
    assert sorted(devices.free) == ["0", "1", "2"]


def take_and_leave(devices):
    with devices.taken(3):
        pass


def test_gpus_are_refused_that_are_too_few():
    parser = argparse.ArgumentParser()
    suite.add_arguments(parser)
    words = ["--seats", "--gpus", "2", "--devices", "3"]
    with pytest.raises(OptionError, match="--devices: expected 2 or more"):
        suite.run(parser.parse_args(words))


def test_seats_that_pretend_are_asked_a_few_at_a_time(monkeypatch):
    """Their reports, of packed roots, pass all checks; so does the checkpoint."""
    n_seats, n_roots = 6, MANY_ROOTS + 5000
    monkeypatch.setattr(saves, "AT_ONCE_ROOTS", 2.5 * n_roots)
    monkeypatch.setattr(frontier, "REST_S", math.inf)
    monkeypatch.setattr(world_module, "ENGINE", frontier.FrontierEngine())
    monkeypatch.setenv(frontier.VARIABLE, str(n_roots))
    spec = spec_of(FlowShopProblem(dpbb.read_instance("ta021")))
    world = World(spec, [f"seat-{n}" for n in range(n_seats)])
    while len(world.tasks) < n_seats:
        world.round()
    monkeypatch.setattr(frontier, "REST_S", 0.0)
    world.round()
    coordinator = world.coordinator
    for _ in range(2):
        world.now += 1
        token, rounds = coordinator.request_save(world.now, 2.0), 0
        while not coordinator.save_done(token):
            asked = [seat for seat in world.tasks if coordinator.full_wanted(seat)]
            assert 0 < len(asked) < n_seats
            for seat in asked:
                world.report(seat, full=True)
            coordinator.ask_on(token, world.now)
            rounds += 1
        assert rounds == 3
        saved = from_bytes(to_bytes(coordinator.checkpoint(world.now)))
        assert saved.covered_s == saved.totals.seconds
        large = [unit for unit in saved.units if len(unit.roots) > MANY_ROOTS]
        assert len(large) == n_seats
        world.round()
    assert saved.counters.decomposed > coordinator.open_units * frontier.CLOSED_A_SLICE


@pytest.mark.slow
def test_a_real_kill_costs_an_interval_at_most(tmp_path, capsys):
    parser = argparse.ArgumentParser()
    suite.add_arguments(parser)
    file = tmp_path / "loss.json"
    words = ["--seats", "1", "--intervals", "3", "--periods", "2", "--json", str(file)]
    assert suite.run(parser.parse_args(words)) == 0
    (row,) = json.loads(file.read_text())
    assert 0 < row["lost_s"] <= row["worst_s"] <= 3 + suite.SLACK_S
    assert "1 cpu" in capsys.readouterr().out
