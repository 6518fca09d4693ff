"""``dpbb campaign`` as a process: what ends it, and what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dpbb.campaign.report import FORMS
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.errors import CheckpointError
from dpbb.options import OPTIONS
from dpbb.result.written import PICTURES
from tests.processes import run

TREE = ("ta029", "--upper-bound", "2237", "--heuristics", "none")
NODES = (13_440_016, 84)
"""Of the golden table."""


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.timeout(400)
def test_a_killed_campaign_goes_on_in_a_moved_folder_to_the_last_node(tmp_path, dpbb):
    def command(folder):
        how = ("--engine", "cpu", "--threads", "1", "--checkpoint-interval", "0.3")
        where = ("-o", str(tmp_path / folder), "--estimate-time", "0.2")
        return [sys.executable, "-m", "dpbb", "campaign", *TREE, *how, *where]

    first = subprocess.Popen(command("one"), start_new_session=True)  # noqa: S603
    while first.poll() is None:
        try:
            saved = load_checkpoint(str(tmp_path / "one/checkpoints/ta029"))
        except CheckpointError:
            time.sleep(0.05)
            continue
        os.killpg(first.pid, signal.SIGKILL)
        break
    assert first.wait() == -signal.SIGKILL
    assert saved.ub == 2237
    (tmp_path / "one").rename(tmp_path / "two")
    run(*command("two"))
    record = json.loads((tmp_path / "two/records/ta029.json").read_text())
    assert (record["totals"]["decomposed"], record["totals"]["leaves"]) == NODES
    assert (record["status"], record["lower_bound"]) == ("infeasible_cutoff", 2237)
    assert record["attempts"] == 1
    assert (tmp_path / "two" / record["certificate"]).is_file()
    assert not list((tmp_path / "two/checkpoints").iterdir())


def test_help_has_what_a_campaign_takes_and_a_report_writes(dpbb):
    words = dpbb("campaign", "--help").out.split()
    flags = {word.strip("[],") for word in words if word.strip("[").startswith("--")}
    assert {row.flag for row in OPTIONS.values()} - flags == {
        *("--checkpoint", "--certificate", "--all-optima", "--optima-file")
    }
    words = dpbb("report", "--help").out.split()
    assert not {*FORMS, *PICTURES} - {w.strip(",") for w in words}
