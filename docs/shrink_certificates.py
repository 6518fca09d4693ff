"""Make certificates of benchmark instances small.

``python docs/shrink_certificates.py FILES``: without the processing times (whoever
checks it has the benchmark's own file, to which the digest ties it), and with units of
less than a ten thousandth of the nodes, given away at the very end, in the first.
"""

import sys
from collections import Counter
from pathlib import Path

from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.proof.certificate import Certificate


def shrink(path: Path) -> None:
    """Write one again without what its benchmark's file or larger units have."""
    certificate = Certificate.read(path)
    content = certificate.content
    about = content["instance"]
    known = best_known_of_digest(about["digest"])
    if known is not None and known.name == about["name"]:
        about.pop("times", None)
        if "units" in content:  # else the bound of the root is all
            n_nodes = content["totals"]["decomposed"]
            content["units"] = joined(content["units"], n_nodes)
        certificate.write(path)


def joined(units: list[list], n_nodes: int) -> list[list]:
    """Return units: the small ones joined to the first if that owns the whole tree."""
    first, *others = units
    if first[0] != [[]]:
        return units
    small = [one for one in others if one[1] * 10_000 < n_nodes and one[4] == first[4]]
    parts = [first, *small]
    closed = sum((Counter(dict(one[3])) for one in parts), Counter())
    nodes, leaves = (sum(one[at] for one in parts) for at in (1, 2))
    whole = [[[]], nodes, leaves, sorted(closed.items()), first[4]]
    return [whole, *(one for one in others if one not in small)]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        shrink(Path(name))
