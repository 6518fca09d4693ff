"""Certificates: the books of a run, for others to check."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from dpbb.errors import OptionError
from dpbb.options import BranchingRule, TreeOptions
from dpbb.proof import checker
from dpbb.text.files import whole_file

MOST_STEPS = 10_000_000
"""Of a shop's bounds in plain Python: a second or two."""


def check_form(content: dict[str, Any]) -> None:
    """Check the form; of other problems the bound of the root may be all the proof.

    What the instance of these has is known to their families.
    """
    instance = content["instance"]
    if instance.get("kind") in (None, checker.KIND):
        checker.check_form(content)
        return
    checker.expect(type(instance["kind"]) is str, "the kind of problem is no text")
    checker.expect({"name", "digest"} <= {*instance}, "it is of no instance")
    form = checker.FORM | {"instance": dict}
    if "tree" in content:
        checker.check_sizes(content)
    else:
        result = checker.RESULT.items()
        of_tree = "ub", "all_optima"
        form["result"] = {name: one for name, one in result if name not in of_tree}
        for name in ("tree", "totals", "bounds", "units"):
            del form[name]
    checker.fits(content, form, "it")


def books_of_root(instance: dict[str, Any], makespan: int) -> dict[str, Any] | None:
    """Return the tree and the books of an optimum that the bound of the root proves.

    The only node of the tree is the root, with the first bound and side that close all
    of its children. None: there are none, or to compute bounds in Python is too slow.
    """
    jobs, machines = len(instance["times"]), len(instance["times"][0])
    shop: Any
    if instance.get("kind") == checker.SHOP_KIND:
        if jobs**3 * machines > MOST_STEPS or "bound" in instance:
            return None
        shop, bounds = checker.shops().FeatureShop(instance), ["model"]
        sides = ["front", "back"][: 1 + shop.both]
    else:
        shop, sides = checker.Shop(instance), ["front", "back"]
        jobs = len(shop.times)
        small = jobs * machines * (machines - 1) // 2 <= checker.MOST_STEPS
        bounds = ["lb1", "lb2"] if small else ["lb1"]
    part = checker.Part(1)
    part.roots, part.open = [()], math.factorial(len(shop.times))
    for bound, side in product(bounds, sides):
        tree = TreeOptions(BranchingRule(side), bound=bound).to_json()
        try:
            ((_, found),) = checker.Tree(shop, tree).explore_all([(part, makespan, 1)])
        except checker.Failed:
            continue
        if found is not None:
            closed = [(depth, count) for depth, count in found[2].items() if count]
            return {
                "instance": instance | ({} if bound == "model" else {"bound": bound}),
                "tree": tree | {"n_jobs": jobs},
                "totals": dict(zip(checker.COUNTS, (*found[:2], closed), strict=True)),
                "units": [([()], *found[:2], closed, (makespan, makespan))],
            }
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What a run proved, and how its books add up; plain values that JSON has."""

    content: dict[str, Any]

    def write(self, path: str | Path) -> None:
        """Write the certificate, compressed; DpbbError if that fails."""
        text = json.dumps(self.content, separators=(",", ":"))
        with whole_file(path):
            Path(path).write_bytes(gzip.compress(text.encode(), mtime=0))

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a certificate, unchecked.

        Raises
        ------
        OptionError
            No such file, or no certificate.
        """
        try:
            return cls(checker.read(str(path)))
        except (OSError, ValueError, MemoryError) as error:
            got = getattr(error, "strerror", None) or error or "too little memory"
            raise OptionError(f"{path}: expected a certificate, got: {got}") from error
