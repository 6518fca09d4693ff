"""Benchmarks; a suite is a module with ``add_arguments(parser)`` and ``run(args)``.

``run`` returns the exit code: 0 unless a count is wrong.
"""

import argparse
from pathlib import Path

from dpbb.text.files import check_writable

WRITTEN = ("runs", "json", "csv", "plot")
"""Arguments of suites that name files to write."""


def check_written(args: argparse.Namespace) -> None:
    """Raise OptionError for two that are one file, or one that cannot be written."""
    known: list[Path] = []
    for name in WRITTEN:
        if (path := getattr(args, name, None)) is not None:
            check_writable(path, f"--{name}", *known)
            known.append(path)


SUITES = {
    "cascade": "trees at the optimum with LB1, LB2 and cascades, CPU or GPU",
    "cold": "whole `dpbb solve` processes, from the prompt to the proof",
    "cpu": "golden trees with the CPU engine: counts, nodes a second",
    "dask": "the same tree raw in one process and through a LocalCluster",
    "easy": "equal jobs with and without their rule; two machines, proved at the root",
    "estimate": "estimates of trees of known size: within a factor 3, how fast",
    "gpu": "golden trees with the GPU engine: counts, nodes a second",
    "heuristics": "schedules of heuristics: percent above the best-known makespans",
    "jobshop": "costs of job-shop schedules: the paper's table, batches, CPU and GPU",
    "lb2": "two-machine bounds a second: one scalar core, all cores, a GPU",
    "literature": "tables of the literature's largest runs, ours beside them",
    "multigpu": "one tree through `dpbb.solve` on 1, 2, 4, ... GPUs of this host",
    "tabu": "tabu search on a GPU: what shared columns gain, over the paper's grid",
}
"""Suites and what they show, for the command line's help."""
