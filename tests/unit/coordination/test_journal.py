"""What is listed for a certificate stays small, whatever the run."""

import gzip
import json
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest

from dpbb.coordination import journal
from dpbb.coordination.journal import MAX_ROOTS, Journal
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit


def noisy_unit(rng, number, n_jobs, n_roots, depth):
    """A unit of random roots, of which nothing can be foretold."""
    paths = np.unique(rng.integers(0, n_jobs - depth, (n_roots, depth)), axis=0)
    roots = WorkUnit.from_paths(n_jobs, paths)
    leaves = int(rng.integers(1, 2**40)) * factorial(n_jobs - depth)
    return SimpleNamespace(id=number, attempt=1, leaves=leaves, last_roots=roots)


def noisy_lease(rng, unit, n_jobs):
    """A lease that closed something at every depth."""
    closed = rng.integers(1, 2**40, n_jobs + 1)
    counts = Counters(int(rng.integers(2**50)), int(rng.integers(2**30)), closed)
    basis = SimpleNamespace(counted=counts)
    return SimpleNamespace(unit=unit, basis=basis, ub=3680)


SIZES = 1, MAX_ROOTS + 1000, MAX_ROOTS + 1000, 3
"""Roots of units: two have too many."""


def filled(n_jobs, n_roots, depth):
    """Return a journal that lists no more."""
    rng = np.random.default_rng(n_jobs)
    full, number = Journal(n_jobs, bounds=[(3680, None)]), 0
    while len(full.units) == number:
        number += 1
        unit = noisy_unit(rng, number, n_jobs, n_roots, depth)
        full.made(unit, number - 1)
        full.ended(noisy_lease(rng, unit, n_jobs), 3679, finished=False)
    return full


@pytest.mark.parametrize("n_roots", [1, MAX_ROOTS])
@pytest.mark.parametrize(("n_jobs", "depth"), [(20, 8), (100, 40), (800, 60)])
def test_a_full_journal_fits_into_a_certificate(n_jobs, depth, n_roots, monkeypatch):
    # a tenth of everything: the test need not take half a minute
    monkeypatch.setattr(journal, "MAX_ENTRIES", journal.MAX_ENTRIES // 10)
    monkeypatch.setattr(journal, "LISTED_BYTES", journal.LISTED_BYTES // 10)
    full = filled(n_jobs, n_roots, depth)
    text = json.dumps(full.to_json(), separators=(",", ":"))
    assert 100_000 < len(gzip.compress(text.encode())) < 800_000
    *_, last = full.units
    assert last.counts.decomposed > 0


def test_it_is_as_full_after_a_checkpoint(monkeypatch):
    monkeypatch.setattr(journal, "LISTED_BYTES", 50_000)
    full = filled(50, 5, 20)
    listed = len(full.units)
    again = Journal.from_json(50, json.loads(json.dumps(full.to_json())))
    assert again.to_json() == full.to_json()
    for one in (full.copy((), 0), again):
        unit = noisy_unit(np.random.default_rng(0), listed + 5, 50, 5, 20)
        one.made(unit, 1)
        assert len(one.units) == listed


def test_what_is_not_listed_counts_in_the_unit_above():
    rng, books = np.random.default_rng(1), Journal(50, bounds=[(3680, None)])
    units = [noisy_unit(rng, n + 1, 50, count, 20) for n, count in enumerate(SIZES)]
    for unit, parent in zip(units, (0, 1, 2, 3), strict=True):
        books.made(unit, parent)
    leases = [noisy_lease(rng, unit, 50) for unit in units]
    for lease in leases:
        books.ended(lease, 3679, finished=False)
    assert [books.listed[n] for n in range(1, 5)] == [0, 0, 0, 1]
    counts = [lease.basis.counted for lease in leases]
    assert books.units[0].counts == counts[0] + counts[1] + counts[2]
    assert books.units[1].counts == counts[3]
    assert Journal.from_json(50, books.to_json()).to_json() == books.to_json()


def test_a_lease_that_closed_nothing_leaves_its_upper_bound():
    """It may have split the roots that the next one gets."""
    rng, books = np.random.default_rng(1), Journal(50, bounds=[(3680, None)])
    unit = noisy_unit(rng, 1, 50, 1, 20)
    books.made(unit, 0)
    first, second = noisy_lease(rng, unit, 50), noisy_lease(rng, unit, 50)
    first.basis.counted, second.ub = Counters.zero(50), 3670
    books.ended(first, 3670, finished=False)
    books.ended(second, 3670, finished=True)
    assert books.units[0].ub == (3680, 3670)
