"""Schedule your own shop from a CSV file, and compare with the order as it stands.

    python examples/02_own_shop.py [SHOP.csv [SCHEDULE.csv]]

A line is a job, a column is a machine, in the order in which every job visits them.
Without arguments a small joinery is written to a temporary folder and solved.
"""

import sys
import tempfile
from pathlib import Path

import dpbb

JOINERY = """\
job,cut,plane,assemble,paint
door,4,3,6,5
frame,2,5,4,3
panel,3,2,2,6
stairs,8,6,9,4
table,5,4,7,5
shelf,2,2,3,4
"""


def main(shop: str, output: str) -> None:
    instance = dpbb.read_instance(shop)
    as_listed = dpbb.evaluate(instance, range(instance.n_jobs))

    result = dpbb.solve(instance, time_limit_s=60, verbosity="quiet")
    print(result.summary())
    print(f"in the order of the file it would take {as_listed.makespan}\n")
    print(result.schedule())

    result.write_schedule(output)
    print(f"\nwritten to {output}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "schedule.csv")
    else:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "joinery.csv"
            file.write_text(JOINERY, encoding="utf-8")
            main(str(file), str(Path(folder) / "schedule.csv"))
