"""Benchmarks; a suite is a module with ``add_arguments(parser)`` and ``run(args)``.

``run`` returns the exit code: 0 unless a count is wrong.
"""

SUITES = {
    "cpu": "golden trees with the CPU engine: counts, nodes a second",
    "dask": "the same tree raw in one process and through a LocalCluster",
    "gpu": "golden trees with the GPU engine: counts, nodes a second",
    "multigpu": "one tree through `dpbb.solve` on 1, 2, 4, ... GPUs of this host",
}
"""Suites and what they show, for the command line's help."""
