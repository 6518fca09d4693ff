"""Prove the optimum of a benchmark instance of Taillard (1993).

    python examples/01_solve_taillard.py [NAME]

NAME is ta001 to ta120; ta001 to ta010 and ta031 to ta040 take a second or two.
"""

import sys

import dpbb


def main(name: str = "ta001") -> None:
    instance = dpbb.read_instance(name)
    print(f"{instance}: best known {instance.best_known}")

    result = dpbb.solve(instance)
    print(result.summary())

    print("\nincumbents:")
    for step in result.trajectory:
        print(f"  {step.seconds:6.2f} s  {step.value}  by {step.source}")

    start = result.schedule().start
    first, last = result.permutation[0], result.permutation[-1]
    print(f"\njob {first} starts at {start[first, 0]} on machine 0;")
    print(f"job {last} leaves the last machine at {result.makespan}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
