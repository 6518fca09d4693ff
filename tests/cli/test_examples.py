"""Every example runs and says what it promises."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.processes import run
from tests.quick import some_slow

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "01_solve_taillard.py": ("best known 1278 (optimal)", "makespan     1278"),
    "02_own_shop_from_csv.py": (
        "optimal, as", "in the order of the file it would take",
        "written: schedule.csv, gantt.png",
    ),
    "03_existing_cluster.py": ("explored by 2 seats", "makespan     2200"),
    "04_gpu.py": ("status       optimal",),
    "05_checkpoint_resume.py": (": node_limit", "14,523,872 decomposed, 46 leaves"),
    "06_callbacks_and_limits.py": ("incumbent", "termination: time_limit"),
    "07_slurm.py": ("a cluster on this machine stands in", "makespan     2200"),
    "08_own_problem.py": (
        "brute force over 8! orders: 759", "total completion time 759", "8 x 3",
        "    5       0-11      11-13      13-17", "nodes, 49 in",
        "claim       optimal, total completion time 759", "by reference",
        "proved again", "Gantt chart: True", "49 (counted, not estimated)",
    ),
    "09_job_shop_tree.py": (
        "optimal, as the tree is exhausted", "359 decomposed, 6 leaves",
        "makespan     55",
        "18-27      27-28        1-6       6-10      30-37      10-18",
    ),
    "11_windows.py": ("NEH has makespan 3167", "no window of 9 jobs gets better"),
    "12_own_model.py": (
        "all hold on engine reference, cpu", "loss         682",
        "weighted tardiness 107", "brute force: 107",
    ),
    "13_own_search.py": (
        "FlowShop: 1586 nodes", "NextMachine: 1549 nodes", "InPython: 1549 nodes",
        "swaps: 1",
    ),
    "10_job_shop_tabu.py": ("ft06: makespan 55 after", "best known 55 (optimal)"),
}  # fmt: skip

SLOW = {name for name in SAYS if name[:2] not in ("02", "09", "10")}

pytestmark = pytest.mark.cluster


def test_every_example_is_known_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.parametrize("name", some_slow(SAYS, SLOW))
def test_example_runs(name, tmp_path):
    environ = os.environ | ({"PATH": ""} if "slurm" in name else {})  # no SLURM there
    ran = run(sys.executable, EXAMPLES / name, cwd=tmp_path, env=environ)
    for text in SAYS[name]:
        assert text in ran.stdout
