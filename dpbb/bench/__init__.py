"""Benchmarks; a suite is a module with ``add_arguments(parser)`` and ``run(args)``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    import argparse


SUITES = {
    "cold": "whole `dpbb solve` processes, from the prompt to the proof",
    "cpu": "golden trees with the CPU engine: counts, nodes a second",
    "dask": "the same tree raw in one process and through a LocalCluster",
    "gpu": "golden trees with the GPU engine: counts, nodes a second",
}
"""Suites and what they show, for the command line's help."""


class Suite(Protocol):
    """What ``dpbb bench`` needs of a suite's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the suite's arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Run it; returns the exit code: 0 unless a count is wrong."""


def load_suite(name: str) -> Suite:
    """Import a suite by its name."""
    return cast("Suite", import_module(f"dpbb.bench.{name}"))
