"""As an oracle inside a search of your own: the best order of some jobs of a sequence.

    python examples/11_windows.py [INSTANCE [JOBS]]

From NEH's sequence on, every window of JOBS neighbors is put into its best order while
all others stay, until no window gets any better. A call proves that its order is the
best one; with workers=0 it starts no cluster, and takes some milliseconds.
"""

import sys
import time

import dpbb


def main(name: str, size: int) -> None:
    instance = dpbb.read_instance(name)
    first = dpbb.heuristic(instance, "neh", progress="none")
    best, sequence = first.makespan, first.permutation
    print(f"{name}: NEH has makespan {best}")

    starts = range(instance.n_jobs - size + 1)
    calls, unchanged, began = 0, 0, time.perf_counter()
    while unchanged < len(starts):
        start = starts[calls % len(starts)]
        result = dpbb.solve(
            instance,
            front=sequence[:start],
            back=sequence[start + size :],
            initial=sequence,
            heuristics="none",
            workers=0,
            progress="none",
        )
        calls += 1
        unchanged += 1
        if result.makespan < best:
            best, sequence, unchanged = result.makespan, result.permutation, 0
            print(f"{best} by jobs {start} to {start + size - 1} of the sequence")

    each = (time.perf_counter() - began) / calls
    print(f"no window of {size} jobs gets better; {calls} calls, {each:.4f} s each")
    print(f"makespan {dpbb.evaluate(instance, sequence).makespan}")


if __name__ == "__main__":
    name, size = [*sys.argv[1:], *["ta041", "9"][len(sys.argv) - 1 :]]
    main(name, int(size))
