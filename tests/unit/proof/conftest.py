"""Certificates of real runs, and both ways to check one."""

from __future__ import annotations

import copy
import functools
import io
import json
import sys
from dataclasses import dataclass, field
from math import factorial

import numpy as np
import pytest

import dpbb
from dpbb.problems import DECODERS
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify
from tests.oracle import TinyFlowShop

SHOP = np.random.default_rng(2).integers(1, 60, (9, 6))


def run_certificate(folder, instance, **options):
    """Content of the certificate of a run, whose tree no heuristic changes."""
    path = folder / "certificate.json.gz"
    known = {"engine": "reference", "verbosity": "quiet", "report_interval_s": 0.05}
    jobs = range(len(getattr(instance, "times", instance)))
    known["tuning"] = {} if "front" in options else {"root_order": jobs}
    dpbb.solve(instance, certificate=str(path), **(known | options))
    return Certificate.read(path).content


@pytest.fixture(scope="session")
def optimal(tmp_path_factory):
    """Certificate of an optimum, from a run that needed a tree: the bound fell."""
    content = run_certificate(
        tmp_path_factory.mktemp("optimal"), SHOP, heuristics="neh"
    )
    assert content["result"]["status"] == "optimal"
    return content


@dataclass(frozen=True)
class OwnShop(TinyFlowShop):
    """A problem that dpbb does not bring along."""

    name: str = field(default="own-shop", init=False)
    objective: str = field(default="length", init=False)

    def encode(self):
        return {"rows": self.times}


@pytest.fixture(scope="session")
def own(tmp_path_factory):
    """Certificate of an own problem's optimum, from a process that cannot decode it."""
    rows = tuple(map(tuple, SHOP[:7, :4].tolist()))
    folder = tmp_path_factory.mktemp("own")
    content = run_certificate(folder, OwnShop(rows))
    assert content["result"]["status"] == "optimal"
    return content


@pytest.fixture
def known_here(monkeypatch):
    """Make the own problem's kind known."""

    def decode(data):
        return OwnShop(tuple(map(tuple, data["rows"])))

    monkeypatch.setitem(DECODERS, "own-shop", decode)


def tree_of(content, fast=False):
    """The checker's own tree of a certificate."""
    shop, result = checker.Shop(content["instance"]), content["result"]
    return checker.Tree(shop, content["tree"], result["all_optima"], fast=fast)


def part_of(n_jobs, roots, given=()):
    """A part of the tree: roots without those of others."""
    part = checker.Part(1)
    part.roots, part.given = [*map(tuple, roots)], [*map(tuple, given)]
    own = dict.fromkeys(part.roots, 1) | dict.fromkeys(part.given, 0)
    for path, is_own in own.items():
        above = [own[path[:size]] for size in range(len(path)) if path[:size] in own]
        part.open += (is_own - (above or [0])[-1]) * factorial(n_jobs - len(path))
    return part


def explored(tree, roots, ub, most=10**6):
    """Counts of roots, explored by plain Python, whatever schedules there are."""
    tree.all_optima = ub + 1
    ((_, found),) = tree.explore_all([(part_of(tree.n_jobs, roots), ub, most)])
    return found


def deal(content, ub):
    """Books as of a run at one bound whose first seat kept but the last child."""
    content = copy.deepcopy(content)
    tree = tree_of(content)
    total = explored(tree, [()], ub)
    # the last child is kept; the root is counted with its first leaf, in the next unit
    last, *digits = tree.n_jobs - 1, *range(tree.n_jobs - 1)
    content["units"] = []
    for digit in (last, *digits):
        nodes, leaves, closed = explored(tree, [(digit,)], ub)
        root = [] if digit == last else [digit]
        content["units"].append([[root], nodes, leaves, pairs(closed), [ub, ub]])
    content["bounds"] = [[ub, []]]
    content["totals"] = totals(*total)
    return content


def totals(nodes, leaves, closed):
    """Counts as a certificate has them."""
    return {"decomposed": nodes, "leaves": leaves, "closed": pairs(closed)}


def pairs(closed):
    return [[depth, closed[depth]] for depth in sorted(closed) if closed[depth]]


@pytest.fixture(scope="session")
def dealt(optimal):
    """Books of 9 units at one bound, each of which can be explored again."""
    return deal(optimal, optimal["result"]["ub"])


@pytest.fixture
def both(tmp_path, monkeypatch):
    """Check with dpbb and with the program of one file, which must agree.

    Returns the verdict, and what they say; ``parts``: what is drawn is explored, not
    the whole tree.
    """

    def check(content, nodes=30_000, parts=False, seed=1, **options):
        if parts:
            nodes = content["totals"]["decomposed"] + content["totals"]["leaves"]
            monkeypatch.setattr(checker, "nodes_of", lambda _: nodes + 1)
        known = {"engine": "reference", "seed": seed, "nodes": nodes}
        found = verify(Certificate(content), **(known | options))
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(content))
        said = io.StringIO()
        arguments = ["", str(path), "--nodes", str(nodes), "--seed", str(seed)]
        arguments += ["--all"] * options.get("everything", False)
        arguments += ["--draws", str(options.get("draws", checker.DRAWS))]
        monkeypatch.setattr(sys, "argv", arguments)
        # not sys.stdout, which threads of an earlier test may swap
        say = functools.partial(print, file=said)
        monkeypatch.setattr(checker, "print", say, raising=False)
        code = checker.main()
        text = found.summary() + "\n" + said.getvalue()
        assert code == checker.EXIT[found.verdict], text
        return found.verdict, text

    return check
