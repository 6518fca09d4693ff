"""Published bounds on the optima of benchmark instances, from a table in the package.

Sources and date stand at the top of ``data/best_known.csv``.
"""

import functools
import re

from dpbb.problem import BestKnown
from dpbb.text.files import data_lines

_NAME = re.compile(
    r"ta(?P<ta>\d{1,9})|VFR(?P<vrf>\d{1,9}_\d{1,9}_\d{1,9})(_Gap)?", re.I | re.A
)

DIGEST_LENGTH = 16
"""Leading digits of an instance's digest that the table holds."""


def benchmark_name(text: str) -> str | None:
    """Return how a benchmark writes the name of an instance; None if it is no name.

    ``TA1`` is ``ta001``, ``vfr30_15_02_gap`` is ``VFR30_15_2``; there need not be such
    an instance.
    """
    match = _NAME.fullmatch(text.strip())
    if match is None:
        return None
    if match["ta"]:
        return f"ta{int(match['ta']):03d}"
    return "VFR" + "_".join(str(int(number)) for number in match["vrf"].split("_"))


def best_known(name: str) -> BestKnown | None:
    """Bounds of the instance of this name; None when it is not in the table."""
    wanted = benchmark_name(name) or name
    return next((one for one in _tables()[0].values() if one.name == wanted), None)


def best_known_names(beginning: str) -> set[str]:
    """Names of all instances in the table that begin so."""
    names = (one.name for one in _tables()[0].values())
    return {name for name in names if name.startswith(beginning)}


def best_known_of_digest(digest: str) -> BestKnown | None:
    """Bounds of the instance with these processing times, whatever it is called."""
    return _tables()[0].get(digest[:DIGEST_LENGTH])


def best_known_of_canonical(digest: str) -> BestKnown | None:
    """Bounds of the instance with these jobs, in whatever order.

    ``digest``: ``FlowShopInstance.canonical``.
    """
    return _tables()[1].get(digest[:DIGEST_LENGTH])


@functools.cache
def _tables() -> tuple[dict[str, BestKnown], dict[str, BestKnown]]:
    """By digest and by canonical digest."""
    digests, canonical = {}, {}
    for line in data_lines(__package__, "best_known.csv"):
        name, digest, lower, upper, any_order = line.split(",")
        known = BestKnown(name, int(lower), int(upper))
        digests[digest] = canonical[any_order] = known
    return digests, canonical
