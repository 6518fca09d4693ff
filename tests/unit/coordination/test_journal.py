"""What is listed for a certificate stays small, whatever the run."""

import gzip
import json
from math import factorial
from types import SimpleNamespace

import numpy as np
import pytest

from dpbb.coordination import journal
from dpbb.coordination.journal import MAX_ROOTS, WITNESSES, Journal, chosen_apart
from dpbb.tree.counters import Counters
from dpbb.tree.work_unit import WorkUnit


def paths_of(units):
    return [[unit.path(i) for i in range(len(unit))] for unit in units]


@pytest.mark.parametrize("n_roots", [1, 3, WITNESSES, 5, 64])
def test_some_roots_become_units_of_their_own(n_roots):
    donated = WorkUnit.from_paths(20, [(3, i // 8, i % 8) for i in range(n_roots)])
    *single, last = chosen_apart(donated, "run")
    assert all(len(unit) == 1 for unit in single)
    assert len(single) + (len(last) == 1) >= min(n_roots, WITNESSES)
    together = WorkUnit.concatenate([*single, last])
    assert sorted(paths_of([together])[0]) == paths_of([donated])[0]
    last.check()


def test_which_ones_is_a_matter_of_run_and_path():
    paths = [(3, i // 8, i % 8) for i in range(64)]
    one = paths_of(chosen_apart(WorkUnit.from_paths(20, paths), "run"))
    kept = {path for (path,) in one[:WITNESSES]}
    # the others do not change which of them are chosen
    less = [path for path in paths if path in kept or path[2] % 2]
    assert paths_of(chosen_apart(WorkUnit.from_paths(20, less), "run"))[:4] == one[:4]
    other = paths_of(chosen_apart(WorkUnit.from_paths(20, paths), "other"))
    assert {path for (path,) in other[:WITNESSES]} != kept


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
    seat = SimpleNamespace(
        id=f"10.0.0.{rng.integers(256)}:40000/cuda0", seat=SimpleNamespace(engine="gpu")
    )
    basis = SimpleNamespace(counted=counts, donated=np.zeros(n_jobs + 1))
    return SimpleNamespace(unit=unit, seat=seat, basis=basis, ub=3680, whole=True)


def filled(n_jobs, n_roots, depth):
    """Return a journal that lists no more."""
    rng = np.random.default_rng(n_jobs)
    full, number = Journal(n_jobs), 0
    while len(full.units) == number:
        number += 1
        unit = noisy_unit(rng, number, n_jobs, n_roots, depth)
        full.made(unit, number - 1)
        full.ended(noisy_lease(rng, unit, n_jobs), 3679, finished=True)
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
    assert full.rest.decomposed > 0  # of the first lease that was not listed


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


def test_roots_are_packed_while_there_is_room_for_their_digits(monkeypatch):
    """Each may have as many as there are jobs; also after a checkpoint."""
    monkeypatch.setattr(journal, "PACKED_DIGITS", 3 * 100 * 50 - 1)
    rng, books = np.random.default_rng(1), Journal(50)
    for number in range(1, 5):
        books.made(noisy_unit(rng, number, 50, 100, 20), number - 1)
        if number == 2:
            books = Journal.from_json(50, json.loads(json.dumps(books.to_json())))
    assert [type(unit.roots) for unit in books.units] == [str, str, *[type(None)] * 2]
