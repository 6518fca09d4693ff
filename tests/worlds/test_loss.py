"""What a kill costs by the timestamps of a run's checkpoints."""

import argparse
import json
import os

import pytest

from dpbb.cluster.storage.checkpoint_folder import CheckpointFolder
from tests.unit.coordination.world import World, spec_of, tiny
from tests.worlds.loss import suite
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
