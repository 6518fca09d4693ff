"""What wider beams give on a device: ``python -m tests.gpu.beam_widths ta081 ta101``.

A row a run: value of the best complete node, and after polishing; time of the levels
and of polishing; nodes and children a second; the least free memory. ``--kernels``
adds the time of each kernel, waiting after every launch.
"""

# ruff: noqa: T201 (a command)
import argparse
import time
from collections import Counter

import numpy as np

from dpbb.flowshop import FlowShopProblem, read_instance
from dpbb.flowshop.heuristics.beam import load
from dpbb.flowshop.heuristics.beam_gpu import GpuLevels
from dpbb.flowshop.heuristics.beam_levels import Guide, Root
from dpbb.flowshop.heuristics.beam_polish import MOST_POLISHED, Polish
from dpbb.flowshop.heuristics.neh import neh
from dpbb.flowshop.heuristics.search import Search, available_cores


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="+")
    arguments.add_argument("--guides", default="WALPHA,GAP")
    arguments.add_argument("--least", type=int, default=10, help="log2 of the width")
    arguments.add_argument("--most", type=int, default=22)
    arguments.add_argument("--seconds", type=float, default=20, help="for a guide")
    arguments.add_argument("--data", help="folder of the VRF files")
    arguments.add_argument("--kernels", action="store_true")
    options = arguments.parse_args()
    load()
    for name in options.names:
        instance = read_instance(name, data_dir=options.data)
        for guide in options.guides.split(","):
            widen(instance, Guide[guide], options)


def widen(instance, guide, options):
    problem = FlowShopProblem(instance)
    nothing = np.zeros(0, np.intp)
    search = Search(instance, 0, threads=available_cores())
    started = time.perf_counter()
    levels = GpuLevels(
        problem, Root.of(problem, nothing, nothing), problem.trivial_ub, 0
    )
    known = problem.best_known
    print(
        f"{instance.name} {guide.name}: best known "
        f"{known.upper_bound if known else '-'}, "
        f"kernels {time.perf_counter() - started:.2f} s, widest {levels.widest:,}",
        flush=True,
    )
    if options.kernels:
        times = timed(levels)
    polish = Polish(search, neh(search))
    ub = problem.trivial_ub
    begun = time.perf_counter()
    for power in range(options.least, options.most + 1):
        width = 1 << power
        if width > levels.widest or time.perf_counter() - begun > options.seconds:
            break
        started = time.perf_counter()
        run = levels.run(width, ub, guide, MOST_POLISHED, lambda: False)
        ran = time.perf_counter() - started
        values = [problem.evaluate(found) for found in polish(run.moves)]
        polished = time.perf_counter() - started - ran
        whole = run.moves.shape == (len(run.moves), instance.n_jobs)
        value = values[0] if whole and values else None
        before = ub
        ub = min([ub, *values])
        gap = f"{(ub / known.upper_bound - 1) * 100:.2f} %" if known else ""
        # half of the jobs are unscheduled on average
        children = run.nodes * (instance.n_jobs + 1) / ran
        print(
            f"  2^{power}: below {before} beam {value} polished "
            f"{min(values, default=None)} best {ub} {gap} depth {run.moves.shape[1]} "
            f"{'UNCUT ' * run.uncut}| {ran:.3f} s + {polished:.3f} s polishing "
            f"{len(run.moves)} | {run.nodes / ran / 1e6:.2f} M nodes/s "
            f"{children / 1e6:.0f} M children/s",
            flush=True,
        )
        if options.kernels:
            parts = ", ".join(f"{k} {v:.3f}" for k, v in times.most_common())
            print(f"    {parts}", flush=True)
            times.clear()
        if run.uncut:
            break


def timed(levels):
    """Have every kernel waited for; return where its seconds are counted."""
    import cupy

    times = Counter()

    def wrap(name, function):
        def call(*arguments, **options):
            cupy.cuda.get_current_stream().synchronize()
            started = time.perf_counter()
            function(*arguments, **options)
            cupy.cuda.get_current_stream().synchronize()
            times[name] += time.perf_counter() - started

        return call

    for name, function in levels._functions.items():
        levels._functions[name] = wrap(name, function)
    return times


if __name__ == "__main__":
    main()
