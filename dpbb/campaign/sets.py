"""Sets of benchmark instances by name."""

import re
from collections.abc import Sequence
from pathlib import Path

from dpbb.errors import OptionError
from dpbb.flowshop.best_known import benchmark_name, best_known, best_known_names
from dpbb.flowshop.formats import file_and_index, sources_in
from dpbb.flowshop.taillard import time_seeds

ALLOWED = (
    "names (ta021, VFR30_15_2), files, or sets: ta, vrf, ta:20x20, vrf:30x20, "
    "vrf:small, vrf:large, ta:open, vrf:open, open, ta:all, vrf:all"
)

SMALL_JOBS = 60
"""Most jobs of the benchmark's small instances."""

BEGINNING = {"ta": "ta", "vrf": "VFR"}
"""How the names of a benchmark begin."""


def size_of(name: str) -> tuple[int, int]:
    """Jobs and machines of an instance of a benchmark."""
    if name.startswith("ta"):
        return tuple(time_seeds())[(int(name[2:]) - 1) // 10]
    n_jobs, n_machines, _ = name.removeprefix("VFR").split("_")
    return int(n_jobs), int(n_machines)


def members(words: Sequence[str]) -> tuple[str, ...]:
    """Return names and files of what sets, names and files say; each once.

    Raises
    ------
    OptionError
        A word that is none of them, or nothing at all.
    InstanceError
        A file that cannot be read; of several instances all are taken, of ``FILE[3]``
        this one.
    """
    found: dict[str, None] = {}
    for word in words:
        found.update(dict.fromkeys(_members_of(word)))
    if not found:
        raise OptionError(f"SET: expected {ALLOWED}, got nothing")
    return tuple(found)


def _members_of(word: str) -> list[str]:
    benchmark, _, part = word.lower().partition(":")
    if word.lower() == "open":
        return [one for name in BEGINNING for one in _members_of(f"{name}:open")]
    name = benchmark_name(word)
    if name is not None and best_known(name) is not None:
        return [name]
    if benchmark in BEGINNING:
        names = sorted(best_known_names(BEGINNING[benchmark]), key=_by_size)
        chosen = [one for one in names if _is_in(one, part)]
        if chosen:
            return chosen
    elif Path(file_and_index(word)[0]).is_file():
        return sources_in(word)
    raise OptionError(f"SET: expected {ALLOWED}, got {word!r}")


def _is_in(name: str, part: str) -> bool:
    """Whether an instance belongs to a part of its benchmark."""
    n_jobs, n_machines = size_of(name)
    if part in ("small", "large"):
        return not name.startswith("ta") and (part == "small") == (n_jobs <= SMALL_JOBS)
    if part == "open":
        known = best_known(name)
        return known is not None and not known.optimal
    return part in ("", "all", f"{n_jobs}x{n_machines}")


def _by_size(name: str) -> tuple[int, ...]:
    return (*size_of(name), int(re.findall(r"\d+", name)[-1]))
