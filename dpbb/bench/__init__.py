"""Benchmarks; a suite is a module with ``add_arguments(parser)`` and ``run(args)``.

``run`` returns the exit code: 0 unless a count is wrong.
"""

SUITES = {
    "cpu": "golden trees with the CPU engine: counts, nodes a second",
    "gpu": "golden trees with the GPU engine: counts, nodes a second",
    "multigpu": "one tree through `dpbb.solve` on 1, 2, ... GPUs or cores of this host",
}
"""Suites and what they show, for the command line's help."""
