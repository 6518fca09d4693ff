"""Jobs at both ends of a sequence that are given: only those between are sequenced.

What the jobs between feel of them are two vectors: when each machine is free after the
given front, and how long the given back takes from its start on each machine to the end
of everything. A schedule of the jobs between starts from the one, and ends in the
other; so does the root of the tree, and nothing below it knows of the given jobs.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError, OptionError, shown
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.makespan import front_of
from dpbb.options.permutations import check_permutation


@dataclass(frozen=True, slots=True, eq=False)
class GivenEnds:
    """A shop with jobs that stay at the front and at the back of the sequence.

    Parameters
    ----------
    instance
        The whole shop.
    front, back
        The given jobs in the order of the sequence; there may be none.
    jobs : ndarray of intp, shape (k,)
        Those between, ascending: the tree's job i is ``jobs[i]``.
    heads, tails : ndarray of int64, shape (n_machines,)
        When each machine is free after the front; time from the start of the back on
        each machine to the end of everything.

    Raises
    ------
    InstanceError
        A given job that is none or comes twice, or no job is left between.
    """

    instance: FlowShopInstance
    front: tuple[int, ...] = ()
    back: tuple[int, ...] = ()
    jobs: NDArray[np.intp] = field(init=False)
    heads: NDArray[np.int64] = field(init=False)
    tails: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        n_jobs, times = self.instance.n_jobs, self.instance.times
        free = np.ones(n_jobs, bool)
        for side, given in ("front", self.front), ("back", self.back):
            for job in given:
                if type(job) is not int or not 0 <= job < n_jobs:
                    raise InstanceError(
                        f"{side}: expected jobs 0 to {n_jobs - 1}, got {shown(job)}"
                    )
                if not free[job]:
                    raise InstanceError(
                        f"{side}: expected every given job once, got job {job} again"
                    )
                free[job] = False
        if not free.any():
            raise InstanceError(
                f"front, back: expected at least one of {n_jobs} jobs between them, "
                "got all as given"
            )
        object.__setattr__(self, "jobs", np.flatnonzero(free))
        object.__setattr__(self, "heads", front_of(times, self.front))
        after = front_of(times[:, ::-1], self.back[::-1])
        object.__setattr__(self, "tails", after[::-1])

    def __bool__(self) -> bool:
        return bool(self.front or self.back)

    @property
    def name(self) -> str:
        """Name of the shop, and what is given, jobs from 0."""
        text = self.instance.name
        for side, jobs in ("front", self.front), ("back", self.back):
            if jobs:
                text += f", given {side} {' '.join(map(str, jobs))}"
        return text

    @property
    def digest(self) -> str:
        """That of the shop, and of what is given; without it the shop's."""
        if not self:
            return self.instance.digest
        content = hashlib.sha256(b"dpbb flow shop with given ends 1\n")
        content.update(bytes.fromhex(self.instance.digest))
        for given in self.front, self.back:
            content.update(np.array([len(given), *given], "<i8").tobytes())
        return content.hexdigest()

    def whole(self, permutation: Iterable[int]) -> tuple[int, ...]:
        """Return the whole sequence, jobs by the shop's numbers."""
        between = (int(self.jobs[job]) for job in permutation)
        return (*self.front, *between, *self.back)

    def between(self, sequence: Sequence[int], what: str) -> tuple[int, ...]:
        """Return the tree's permutation of a whole sequence.

        OptionError: it is no permutation of all jobs, or does not begin and end with
        the given ones.
        """
        n_jobs, n_got = self.instance.n_jobs, len(sequence)
        if self and n_got != n_jobs:
            raise OptionError(
                f"{what}: expected all {n_jobs} jobs, the given ones too, got {n_got}"
            )
        jobs = check_permutation(sequence, what, n_jobs)
        n_front, end = len(self.front), len(jobs) - len(self.back)
        if (jobs[:n_front], jobs[end:]) != (self.front, self.back):
            raise OptionError(
                f"{what}: expected a sequence that begins and ends with the given "
                f"jobs {shown(self.front)} and {shown(self.back)}, got {shown(jobs)}"
            )
        between = np.searchsorted(self.jobs, jobs[n_front:end])
        return tuple(between.tolist())
