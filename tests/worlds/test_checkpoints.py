"""What checkpoints of real seats take: the command, on small trees of the CPU."""

import argparse
import json

import pytest

from dpbb.errors import OptionError
from tests.worlds.checkpoints import suite


def run(*words):
    parser = argparse.ArgumentParser()
    suite.add_arguments(parser)
    return suite.run(parser.parse_args(words))


def test_seats_share_a_tree_and_save_all_of_it(tmp_path, capsys):
    file = tmp_path / "rows.json"
    words = "--engine cpu --gpus 2 --seconds 0.2 --instances ta056@3679 --json"
    assert run(*words.split(), str(file)) == 0
    (row,) = json.loads(file.read_text())
    assert row["seats"] == 2
    assert row["rate"] > 0
    assert row["open_roots"] > 1
    assert row["saved_roots"] == row["open_roots"]  # few as they are
    assert row["n_bytes"] > 10
    assert set(row["seconds"]) == set(suite.STEPS)
    assert "ta056@3679" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--instances ta056", "expected NAME@CUTOFF, got 'ta056'"),
        ("--gpus 0", "expected > 0"),
        # its tree is a root alone: nothing can be given
        ("--engine cpu --gpus 2 --instances ta056@3", "roots for all seats"),
    ],
)
def test_bad_arguments_are_refused(words, message):
    with pytest.raises(OptionError, match=message):
        run(*words.split())
