"""``dpbb check``."""

import argparse
import sys
from importlib import import_module
from typing import Any

from dpbb.cli.arguments import add_rows
from dpbb.errors import OptionError, shown


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the problem, and how much is drawn."""
    rows = {
        "problem MODULE:PROBLEM": "a model: an object of a module, or a function that "
        "makes it; the module is looked for in this folder, too",
        "--nodes N=200": "random nodes (default: 200)",
        "--seed N=0": "what they are drawn from",
    }
    add_rows(parser, rows)


def run_check(args: argparse.Namespace) -> int:
    """Check the laws of a model; say which held, and on which engines."""
    from dpbb.testing import check_model

    if args.nodes < 1:
        raise OptionError(f"--nodes: expected at least 1, got {args.nodes}")
    problem = _problem(args.problem)
    print(check_model(problem, nodes=args.nodes, seed=args.seed).summary())
    return 0


def _problem(path: str) -> Any:
    """Return what a path ``module:name`` names, made if it is a function."""
    module, colon, name = path.partition(":")
    if not colon:
        raise OptionError(f"expected MODULE:PROBLEM, got {shown(path)}")
    sys.path.insert(0, "")
    try:
        found = import_module(module)
    except ImportError as error:
        raise OptionError(f"{path}: {error}") from error
    if not hasattr(found, name):
        raise OptionError(f"{path}: expected a name of {module}, got {shown(name)}")
    problem = getattr(found, name)
    return problem() if callable(problem) else problem
