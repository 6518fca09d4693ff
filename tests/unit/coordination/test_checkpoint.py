from __future__ import annotations

import contextlib
import re
from dataclasses import fields, replace

import numpy as np
import pytest

from dpbb.coordination import format as checkpoint_format
from dpbb.coordination.format import from_bytes, to_bytes
from dpbb.coordination.messages import Request
from dpbb.errors import CheckpointError, InvariantError, OptionError
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.options import (
    OPTIONS,
    TUNING,
    BranchingRule,
    RunOptions,
    SolveOptions,
    TreeOptions,
)
from dpbb.tree.work_unit import WorkUnit
from tests.intervals import unchecked
from tests.unit.coordination.world import (
    TIMES,
    World,
    as_file,
    check_certified,
    check_journal,
    optimum,
    parts_of,
    seat_of,
    spec_of,
    tiny,
)

SEATS = ("a", "b", "c3")


def flow_shop_state(rounds=12, **changes):
    """Return the state of a run in the middle of a flow shop."""
    problem = FlowShopProblem(FlowShopInstance("six", np.array(TIMES)))
    spec = spec_of(
        problem, TreeOptions(BranchingRule.MINBRANCH, branching_ub=60),
        request=Request({"seed": 3}), upper_bound=60, **changes,
    )  # fmt: skip
    world = World(spec, SEATS)
    for _ in range(rounds):
        world.round()
    saved = world.coordinator.checkpoint(world.now)
    assert saved.units
    return saved


def other_value(row):
    """Return a value of an option that is not its default."""
    texts = re.findall(r'"(\w+)"', row.kind.given)
    for value in (32, 0.25, "folder", True, (1, 0), *texts):
        with contextlib.suppress(OptionError):
            if row.kind.check(value, row.name) != row.default:
                return value
    raise AssertionError(f"{row.name}: no value but its default")


OF_RUN = {one.name: other_value(OPTIONS[one.name]) for one in fields(RunOptions)}
OTHER = SolveOptions(
    **OF_RUN, tuning={name: other_value(row) for name, row in TUNING.items()}
)


def test_every_field_of_a_run_is_saved():
    """But for the deadline, which a restart takes from ``left_s``, and for paths."""
    spec = flow_shop_state().spec
    others = {
        "engine": "cpu", "options": RunOptions.of(OTHER), "tuning": OTHER.tuning,
        "lease_timeout_s": 6.0, "certificate": True, "proved_bound": 1,
        "root_bound": 17, "instance": "another",
    }  # fmt: skip
    same = ("run_id", "problem", "tree", "upper_bound", "permutation", "request")
    names = {*others, *same, "time_limit_s"}
    assert {f.name for f in fields(spec)} == names
    for values in (others["options"], others["tuning"]):
        untold = type(values)()
        for f in fields(values):
            assert getattr(values, f.name) != getattr(untold, f.name)
    world = World(replace(spec, **others))
    again = from_bytes(to_bytes(world.coordinator.checkpoint(world.now))).spec
    for name, value in others.items():
        saved = replace(value, checkpoint=None) if name == "options" else value
        assert getattr(again, name) == saved
        assert getattr(spec, name) != value


def test_a_flow_shop_needs_nothing_but_the_file():
    saved = flow_shop_state(certificate=True)
    again = from_bytes(to_bytes(saved))
    assert again.spec.problem.digest == saved.spec.problem.digest
    assert again.spec.tree == saved.spec.tree
    assert again.spec.request.options["seed"] == 3
    assert again.journal.to_json() == saved.journal.to_json()
    assert again.ub == saved.ub
    for ours, theirs in zip(again.units, saved.units, strict=True):
        assert ours.open_roots == theirs.open_roots
        assert (ours.least_lb, ours.fresh) == (theirs.least_lb, theirs.fresh)


def test_a_journal_has_what_open_leases_have_closed():
    """The ledger has moved by their full reports, and the rest will be leased anew."""
    problem = tiny()
    spec = spec_of(problem, upper_bound=optimum(problem), certificate=True)
    world = World(spec, ("a", "b"))
    for _ in range(4):
        world.round(3)
    world.report("a", full=True)
    world.tasks["a"].explore(2)
    world.report("a", donate=True)
    book = world.coordinator.book
    assert any(lease.basis.counted.closed.any() for lease in book.leases.values())
    noted = book.journal.to_json()
    saved = from_bytes(to_bytes(world.coordinator.checkpoint(world.now)), "", problem)
    check_journal(saved)
    assert saved.journal.to_json() != noted
    assert book.journal.to_json() == noted  # they are open: it is a copy
    world.coordinator.remove_seat("a", world.now)  # and lost within the run
    check_journal(world.coordinator.checkpoint(world.now))
    world.tasks.clear()
    world.coordinator.remove_seat("b", world.now)
    world.coordinator.add_seat(seat_of("c3"), world.now)
    world.run()
    check_certified(world.coordinator)
    again = World(spec, ("d",), saved=saved)
    again.run()
    check_certified(again.coordinator)


def test_gpu_seconds_and_energy_of_a_resumed_run_are_those_of_all_its_parts():
    spec = spec_of(tiny())
    world = World(spec, ("c3", "b"))
    while len(world.coordinator.book.used_seats) < 2:
        world.round()
    for lease in world.coordinator.book.leases.values():
        lease.energy_j = 7.0
    former = world.coordinator.checkpoint(world.now)
    assert 0 < former.totals.gpu_seconds < former.totals.explore_seconds
    saved = from_bytes(to_bytes(former), problem=spec.problem)
    again = World(spec, ("c3",), saved=saved)
    assert (
        again.coordinator.snapshot(again.now).gpu_seconds == former.totals.gpu_seconds
    )
    again.run()
    outcome = again.coordinator.outcome()
    assert outcome.totals.gpu_seconds > former.totals.gpu_seconds
    added = outcome.totals.explore_seconds - former.totals.explore_seconds
    assert outcome.totals.gpu_seconds - former.totals.gpu_seconds == pytest.approx(
        added
    )
    assert outcome.totals.energy_j == former.totals.energy_j


def reheaded(content, change):
    """Change the header, and give it the checksum that belongs to it."""
    header, sections = parts_of(content)
    change(header)
    return as_file(header, sections)


def flipped(content, share):
    """Flip a bit at a place between the begin (0) and the end (1)."""
    changed = bytearray(content)
    changed[int(share * (len(content) - 1))] ^= 4
    return bytes(changed)


def change(*keys, to):
    """Return what sets a value deep in the header."""

    def apply(header):
        *above, last = keys
        for key in above:
            header = header[key]
        header[last] = to(header[last])

    return lambda content: reheaded(content, apply)


DAMAGES = {
    "empty": lambda content: b"",
    "future schema": lambda content: content.replace(b" 7 ", b" 8 ", 1),
    "length": lambda content: content.replace(b"\n", b"x\n", 1),
    **{f"cut at {x}": lambda c, x=x: c[: int(len(c) * x)] for x in (0.01, 0.3, 0.9)},
    **{f"bit at {x}": lambda c, x=x: flipped(c, x) for x in (0, 0.1, 0.5, 0.98, 1)},
    "other digest": change("spec", "problem", "digest", to=lambda _: "0" * 64),
    "negative time": change("spec", "problem", "times", 0, 0, to=lambda _: -1),
    "rule version": change("spec", "tree", "rule_version", to=lambda v: v + 1),
    "incumbent's value": change("value", to=lambda v: v - 1),
    "incumbent": change("permutation", to=lambda _: [0, 0, 1, 2, 3, 4]),
    "closed": change("closed", 3, to=lambda v: v + 1),
    "optima dropped": change("n_optima", to=lambda _: -1),
    "unit dropped": change("units", to=lambda units: units[1:]),
    "unit's checksum": change("units", 0, "roots", 0, 2, to=lambda _: "0" * 32),
    "unit's length": change("units", 0, "roots", 0, 1, to=lambda v: v - 2),
    "unit elsewhere": change("units", 0, "roots", 0, 0, to=lambda v: v + 2**40),
    "totals missing": change("totals", to=lambda _: {}),
    "journal's checksum": change("journal", 2, to=lambda _: "0" * 32),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(name):
    state = flow_shop_state(certificate=True)
    jobs = tuple(range(6))
    value = state.spec.problem.evaluate(np.arange(6))
    content = to_bytes(replace(state, value=value, permutation=jobs))
    from_bytes(content)
    with pytest.raises(CheckpointError, match="test: "):
        from_bytes(DAMAGES[name](content), "test")


def test_sections_that_would_become_too_much_are_not_read(monkeypatch):
    """A kilobyte may become a megabyte, and ask for all memory at once."""
    state = flow_shop_state(certificate=True)
    order = np.arange(6, dtype=np.uint16)
    optima = np.tile(order, (1000, 1))
    state = replace(state, optima=optima, n_optima=1000)
    content = to_bytes(state)
    assert len(from_bytes(content).optima) == 1000
    monkeypatch.setattr(checkpoint_format, "MAX_OPTIMA_BYTES", 12 * 999)
    with pytest.raises(CheckpointError, match=r"test: optima: .* of 11988 bytes"):
        from_bytes(content, "test")
    monkeypatch.undo()
    monkeypatch.setattr(checkpoint_format, "MOST_JOURNAL_BYTES", 99)
    with pytest.raises(CheckpointError, match=r"test: journal: .* of 99 bytes"):
        from_bytes(content, "test")


@pytest.mark.parametrize("n_units", [1, 2])
def test_roots_are_in_order_and_disjoint_however_many_units_there_are(n_units):
    saved = flow_shop_state()
    whole = WorkUnit.concatenate([unit.open_roots for unit in saved.units])
    assert len(whole) > 3
    paths = whole.roots()
    for rows in (paths[::-1], [paths[0], *paths[:-1]]):
        wrong = unchecked(whole.n_jobs, rows)
        parts = [wrong, whole.take(slice(0, 1))][:n_units]
        units = tuple(
            replace(saved.units[0], id=number, roots=part, gifts=())
            for number, part in enumerate(parts)
        )
        with pytest.raises(CheckpointError, match="open roots: expected roots in leaf"):
            replace(saved, units=units).check()
    units = (replace(saved.units[0], roots=whole, gifts=()),)
    replace(saved, units=units).check()


@pytest.mark.parametrize("version", [1, 2])
def test_a_run_goes_on_by_the_rules_that_it_has(version):
    """Trees of equal jobs from before there was a rule for them stay what they are."""
    problem = FlowShopProblem(FlowShopInstance("equal", [[3, 9], [3, 9], [4, 4]]))
    spec = spec_of(problem, TreeOptions(rule_version=version))
    saved = World(spec, SEATS).coordinator.checkpoint(100.0)
    assert from_bytes(to_bytes(saved)).spec.tree == spec.tree


def test_leaves_of_many_jobs_have_more_digits_than_python_writes():
    """1,600! has 4,434: none of them is written in decimals."""
    n_jobs = 1600
    problem = FlowShopProblem(FlowShopInstance("many", np.ones((n_jobs, 2), np.int64)))
    world = World(spec_of(problem, certificate=True), ("a",))
    saved = world.coordinator.checkpoint(world.now)
    (unit,) = saved.units
    last = WorkUnit.from_paths(n_jobs, [(n_jobs - 1,)])
    closed = np.zeros(n_jobs + 1, np.int64)
    closed[1] = n_jobs - 1
    totals = replace(saved.totals, decomposed=1, leaves=0)
    unit = replace(unit, roots=last)
    saved = replace(saved, closed=closed, totals=totals, units=(unit,))
    again = from_bytes(to_bytes(saved))
    assert again.counters == saved.counters
    assert again.journal.to_json() == saved.journal.to_json()
    closed[1] -= 1
    with pytest.raises(CheckpointError, match=r"expected 0x.* leaves, got 0x"):
        replace(saved, closed=closed).check()
    book = world.coordinator.book
    book.closed_leaves += 1
    with pytest.raises(InvariantError, match=r"expected 0x.* leaves, got 1 closed"):
        book.check_partition()
