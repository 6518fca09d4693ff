"""From a CSV file of your own shop to an optimal schedule and a Gantt chart.

    python examples/02_own_shop_from_csv.py [SHOP.csv [FOLDER]]

A line is a job, a column is a machine, in the order in which every job visits them.
Without arguments the joinery in joinery.csv is solved. schedule.csv and gantt.png are
written to the folder, by default the current one. The chart needs Matplotlib:
pip install "dpbb[plot]".
"""

import sys
from pathlib import Path

import dpbb


def main(shop: Path, folder: Path) -> None:
    instance = dpbb.read_instance(shop)
    as_listed = dpbb.evaluate(instance, range(instance.n_jobs))

    result = dpbb.solve(instance, time_limit_s=60, verbosity="quiet")
    print(result.summary())
    print(f"in the order of the file it would take {as_listed.makespan}\n")
    print(result.schedule())

    result.write_schedule(folder / "schedule.csv")
    result.plot("gantt").figure.savefig(folder / "gantt.png", dpi=150)
    print(f"\nwritten: {folder / 'schedule.csv'}, {folder / 'gantt.png'}")


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    joinery = Path(__file__).parent / "joinery.csv"
    main(*given, *[joinery, Path()][len(given) :])
