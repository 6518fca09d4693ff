"""``dpbb check``."""

import argparse
import inspect
import sys
from importlib import import_module
from typing import Any

import numpy as np

from dpbb.cli.arguments import add_rows
from dpbb.errors import DpbbError, OptionError, shown
from dpbb.flowshop.family import read_problem
from dpbb.flowshop.formats import read_instance
from dpbb.options import kinds

SMALL = (7, 4)
"""Jobs and machines of the shop that a class or a heuristic is checked on."""

HEURISTIC = 3
"""Parameters of a heuristic: problem, rng, seconds."""


def add_check(parser: argparse.ArgumentParser) -> None:
    """Add the problem, and how much is drawn."""
    rows = {
        "problem MODULE:PROBLEM": "an object of a module, or a function that makes it; "
        "or for flow shops a class, or a heuristic (problem, rng, seconds); the module "
        "is looked for in this folder, too",
        "--nodes N=200": "random nodes (default: 200)",
        "--seed N=0": "what they are drawn from",
    }
    add_rows(parser, rows)


def run_check(args: argparse.Namespace) -> int:
    """Check the laws of a problem or a heuristic; say which held, on which engines."""
    from dpbb import testing

    kinds.whole(1).check(args.nodes, "--nodes")
    found = _found(args.problem)
    parameters = _parameters(found)
    shop = np.random.default_rng(args.seed).integers(1, 30, SMALL)
    if parameters == HEURISTIC and not isinstance(found, type):
        best = testing.check_heuristic(found, read_problem(shop), seed=args.seed)
        print(f"11  {testing.LAWS[11]}\nholds: {best.value} by {best.permutation}")
        return 0
    if isinstance(found, type) and parameters == 1:
        try:
            found = found(read_instance(shop))
        except DpbbError:
            raise
        except Exception as error:
            raise OptionError(
                f"{args.problem}: expected a class that takes a flow shop; for others "
                "name a function that makes a problem "
                f"(got {type(error).__name__}: {error})"
            ) from error
    elif parameters == 0:
        found = found()
    elif parameters is not None:
        raise OptionError(
            f"{args.problem}: expected a function without parameters that makes a "
            "problem, a class that takes a flow shop, or a heuristic (problem, rng, "
            f"seconds), got {parameters} parameters"
        )
    print(testing.check_model(found, nodes=args.nodes, seed=args.seed).summary())
    return 0


def _found(path: str) -> Any:
    """Return what a path ``module:name`` names."""
    module, colon, name = path.partition(":")
    if not colon:
        raise OptionError(f"expected MODULE:PROBLEM, got {shown(path)}")
    sys.path.insert(0, "")
    try:
        found = import_module(module)
    except ImportError as error:
        file = f"; write {module[:-3]}:{name}" if module.endswith(".py") else ""
        raise OptionError(f"{path}: {error}{file}") from error
    if not hasattr(found, name):
        raise OptionError(f"{path}: expected a name of {module}, got {shown(name)}")
    return getattr(found, name)


def _parameters(found: Any) -> int | None:
    """Return how many parameters a function has to be given; None: it is none."""
    if not callable(found):
        return None
    ways = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = inspect.signature(found).parameters.values()
    return sum(one.kind in ways and one.default is one.empty for one in given)
