"""A kernel that reads where nothing is; the CUDA context of the process is lost.

Prints one line of JSON: what the call that met the fault raised, then what every call
after it raised, as type and text.
"""

import json
import os
import sys

from dpbb.engines import get_engine
from dpbb.engines.gpu.layout import ARENA
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import TreeOptions, Tuning
from dpbb.tree import WorkUnit

NAME, UB = "ta056", 3660
NOWHERE = 1 << 62


def spoil(session):
    """Have all kernels take their pages for somewhere else."""
    for arena in session._arm.pool.memory.arenas:
        words = arena.get().view(ARENA)
        words["pages"] = NOWHERE
        arena.set(words.view("u1"))


def failure(call, *arguments):
    """Return type and text of what a call raises; None if it does not."""
    try:
        call(*arguments)
    except Exception as error:  # noqa: BLE001 - whatever comes is the answer
        return [type(error).__name__, str(error)]
    return None


def main(balance):
    """Explore, break it, look."""
    engine = get_engine("gpu")
    device = engine.devices()[0]
    problem = FlowShopProblem(taillard_instance(NAME))
    unit = WorkUnit.whole(problem.n_jobs)
    tuning = Tuning(balance=balance)
    session = engine.open(problem, TreeOptions(), device, ub=UB, tuning=tuning)
    session.load(unit)
    session.advance(UB, 0.0)
    seen = {"before": len(session.remaining())}
    spoil(session)
    if balance == "steal":
        session.load(unit)  # explorers read pages when they take roots from them
    seen["fault"] = failure(session.advance, UB, 0.1)
    calls = {
        "advance": (session.advance, UB, 0.1), "load": (session.load, unit),
        "donate": (session.donate, 10), "remaining": (session.remaining,),
    }  # fmt: skip
    seen["after"] = {name: failure(*call) for name, call in calls.items()}
    print(json.dumps(seen), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
    os._exit(0)  # nothing of CUDA can be torn down any more
