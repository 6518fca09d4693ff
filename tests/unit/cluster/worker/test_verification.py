"""Pieces that are explored again in a task, which somebody may cancel."""

from types import SimpleNamespace

import pytest
from distributed import Reschedule

from dpbb.cluster.worker import verification
from dpbb.flowshop.family import read_problem
from dpbb.options import TreeOptions
from dpbb.proof.exploring import Task
from dpbb.tree.work_unit import WorkUnit
from tests.unit.proof.conftest import SHOP


class States:
    """Of a task, as a worker shows them one after the other."""

    def __init__(self, *states):
        self._states = list(states)

    def get(self, _key):
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        return SimpleNamespace(state=state)


@pytest.mark.parametrize(
    "states", [("cancelled", "executing"), ("executing", "cancelled", "executing")]
)
def test_a_part_of_a_piece_is_no_answer(states, monkeypatch):
    """A task that is wanted again after all would say that there is no more."""
    worker = SimpleNamespace(
        get_current_task=lambda: "key", state=SimpleNamespace(tasks=States(*states))
    )
    monkeypatch.setattr(verification, "get_worker", lambda: worker)
    problem = read_problem(SHOP)
    piece = Task(WorkUnit.whole(problem.n_jobs), problem.trivial_ub, 10**9)
    with pytest.raises(Reschedule):
        verification.explore_again(
            problem, TreeOptions(), False, "reference", [(0, piece)]
        )
