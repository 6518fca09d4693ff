"""Permutations of jobs from sequences, texts and files."""

import json
import numbers
import re
from pathlib import Path
from typing import Any

from dpbb.errors import OptionError, shown
from dpbb.text.files import expecting, read_file

EXPECTED = "job numbers separated by commas or spaces, or a readable file with them"


def check_permutation(
    jobs: Any, name: str = "permutation", n_jobs: int | None = None
) -> tuple[int, ...]:
    """Return a permutation of 0 to n-1 as a tuple.

    Parameters
    ----------
    jobs
        Sequence of whole numbers.
    n_jobs
        The n; default: the number of values.

    Raises
    ------
    OptionError
        Says which value is none of the jobs, which job comes twice, or how many jobs
        were expected.
    """
    order = tuple(whole_numbers(jobs, name))
    if n_jobs is not None and len(order) != n_jobs:
        raise OptionError(f"{name}: expected {n_jobs} jobs, got {len(order)}")
    n_jobs = len(order)
    if not n_jobs:
        raise OptionError(f"{name}: expected at least one job, got none")
    seen: set[int] = set()
    for position, job in enumerate(order):
        if job in seen:
            raise OptionError(
                f"{name}: expected every job once, got job {shown(job)} again at "
                f"position {position}"
            )
        if not 0 <= job < n_jobs:
            one_based = sorted(order) == list(range(1, n_jobs + 1))
            hint = "; jobs count from 0, subtract 1 from each" if one_based else ""
            raise OptionError(
                f"{name}: expected jobs 0 to {n_jobs - 1} (there are {n_jobs} values), "
                f"got {shown(job)} at position {position}{hint}"
            )
        seen.add(job)
    return order


def whole_numbers(jobs: Any, name: str = "permutation") -> list[int]:
    """Return a sequence of whole numbers as a list; OptionError: it is none."""
    try:
        values = None if isinstance(jobs, (str, bytes)) else list(jobs)
    except TypeError:  # also of an array without dimensions
        values = None
    if values is None:
        raise OptionError(f"{name}: expected a sequence of jobs, got {shown(jobs)}")
    for position, job in enumerate(values):
        # A duration of NumPy calls itself integral, but is no index.
        whole = isinstance(job, numbers.Integral) and hasattr(job, "__index__")
        if isinstance(job, bool) or not whole:
            raise OptionError(
                f"{name}: expected a whole number at position {position}, got "
                f"{shown(job)}"
            )
    return [int(job) for job in values]


def check_jobs(jobs: Any, name: str = "permutation") -> tuple[Any, ...]:
    """Return a permutation as a tuple, of which jobs may be given by their names.

    What the names are says the instance: until it is known they stay (``Names.numbers``
    has the numbers).
    """
    listed = isinstance(jobs, (list, tuple)) or (
        hasattr(jobs, "__array__") and getattr(jobs, "ndim", 1) == 1
    )
    if listed and any(isinstance(job, str) for job in jobs):
        return tuple(str(job) if isinstance(job, str) else job for job in jobs)
    return check_permutation(jobs, name)


def parse_permutation(
    text: str, name: str = "permutation", *, one_based: bool = False
) -> tuple[Any, ...]:
    """Read a permutation from a text or from the file that the text names.

    Parameters
    ----------
    text
        Job numbers separated by commas or white space, or names by commas; or the
        path of a file with such a list, with a JSON list, or with a JSON object that
        has a ``permutation``, such as a saved result.
    one_based
        The numbers count from 1.

    Raises
    ------
    OptionError
        No such file, or not a permutation.
    """
    content = text
    if not text.strip():
        raise OptionError(f"{name}: expected {EXPECTED}, got {text!r}")
    listed = any(mark in text for mark in ",;") and not Path(text).is_file()
    if not listed and not re.fullmatch(r"[\s\d,;\-]+", text):
        name = f"{name} ({text})"
        with expecting(f"{name}: expected {EXPECTED}"):
            content = read_file(Path(text)).decode("utf-8")
    if content.lstrip().startswith(("{", "[")):
        values = _from_json(content, name)
    else:
        values = jobs_in(content, one_based=one_based)
    if one_based and isinstance(values, list):
        if 0 in values:
            raise OptionError(f"{name}: expected jobs that count from 1, got job 0")
        values = [job - 1 if isinstance(job, int) else job for job in values]
    return check_jobs(values, name)


def jobs_in(content: str, *, one_based: bool = False) -> list[int | str]:
    """Return numbers that commas or white space separate; names, which commas do.

    Numbers stay texts, as jobs may be called so, but for those that count from 1.
    """
    words = [word for word in re.split(r"[\s,;]+", content) if word]
    if words and all(re.fullmatch(r"-?\d{1,18}", word) for word in words):
        return [int(word) for word in words] if one_based else [*words]
    marks = r"[,;\n]" if re.search("[,;]", content) else r"\s+"
    return [word.strip() for word in re.split(marks, content) if word.strip()]


def _from_json(content: str, name: str) -> Any:
    with expecting(f"{name}: expected JSON"):
        document = json.loads(content)
    if isinstance(document, dict):
        if document.get("permutation") is None:
            got = "null" if "permutation" in document else ", ".join(document)
            raise OptionError(
                f"{name}: expected a JSON object with a permutation, got "
                f"{got or 'an empty one'}"
            )
        return document["permutation"]
    return document
