"""What a kill costs by the timestamps of a run's checkpoints."""

import argparse
import json

import pytest

from tests.worlds.loss import suite


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
