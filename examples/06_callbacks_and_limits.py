"""Limits, callbacks, and a schedule from elsewhere in a run that is going on.

    python examples/06_callbacks_and_limits.py

ta056 takes days on a laptop: this stops after four seconds with the best it has.
"""

import time

import dpbb


def main() -> None:
    with dpbb.submit(
        "ta056", engine="cpu", heuristics="neh", time_limit_s=4, verbosity="quiet"
    ) as run:
        run.on_incumbent(lambda s: print(f"incumbent {s.value} at {s.seconds:.1f} s"))
        run.on_lower_bound(lambda s: print(f"lower bound {s.lower_bound}"))

        # Another solver may work beside: here, a better heuristic of your own.
        time.sleep(1)
        best_known = 3679
        mine = dpbb.solve(
            "ta056", heuristic_time_s=1, node_limit=1, verbosity="quiet"
        ).permutation
        if run.offer(mine):
            print("the offered schedule was better")
        result = run.result()

    print(result.summary())
    print(f"termination: {result.termination}, gap {result.gap:.2%}")
    print(f"{result.makespan - best_known} above the best known makespan")


if __name__ == "__main__":
    main()
