"""Explore, stop, export and reload small trees: what the sanitizers watch."""

from itertools import product

from dpbb.engines import get_engine
from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance
from dpbb.options import Balance, TreeOptions, Tuning
from dpbb.tree import WorkUnit

TREES = (("ta014", 1377, 16114, 13), ("ta046", 3006, 61, 0), ("ta081", 6050, 4445, 0))


def main():
    """Raise unless the counts are exact."""
    engine = get_engine("gpu")
    device = engine.devices()[0]
    for balance, (name, ub, decomposed, leaves) in product(Balance, TREES):
        problem = FlowShopProblem(taillard_instance(name))
        counts = [0, 0]
        unit = WorkUnit.whole(problem.n_jobs)
        exhausted = False
        while not exhausted:
            tuning = Tuning(explorers=512, balance=str(balance))
            session = engine.open(problem, TreeOptions(), device, ub=ub, tuning=tuning)
            session.load(unit)
            given = WorkUnit.empty(problem.n_jobs)
            for _ in range(20):
                part = session.advance(ub, 0.2)
                counts[0] += part.decomposed
                counts[1] += part.leaves
                if part.exhausted:
                    break
                given = WorkUnit.concatenate([given, session.donate(100)])
            unit = WorkUnit.concatenate([given, session.remaining()])
            counts[0] -= unit.owned_ancestors
            exhausted = not len(unit)
            session.close()
        if counts != [decomposed, leaves]:
            raise SystemExit(f"{name}: expected {decomposed, leaves}, got {counts}")
        print(f"{balance} {name}@{ub}: {counts} as expected")  # noqa: T201


if __name__ == "__main__":
    main()
