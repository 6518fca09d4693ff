"""The events of a run: bounded, in order, and none is driven out uncounted."""

import random
from collections import Counter

from dpbb.coordination.events import ROWS_OF_A_KIND, ROWS_OF_SEATS, EventLog
from dpbb.coordination.snapshot import EventRecord
from tests.unit.coordination.world import World, seat_of, spec_of, tiny


def kinds(log):
    return [event.kind for event in log.latest()]


def test_what_happened_in_a_night_is_there_in_the_morning():
    """Eight hours of checkpoints, and of seats that other runs get and give back."""
    log = EventLog(0.0)
    log.add(1.0, "incumbent", "3720 by start")
    for second in range(2, 8 * 3600, 2):
        log.add_seat(second, "seat", f"seat-{second % 7}")
        log.add_seat(second, "seat-left", f"seat-{second % 7}")
        log.add_donation(second, "seat-1", 3)
        if second % 30 == 0:
            log.add(second, "checkpoint", f"checkpoint-{second}, 6 bytes")
        if second == 4000:
            log.add_seat(second, "seat-lost", "seat-9")
            log.add(second, "lost", "unit 9 waits again: seat seat-9 left")
            log.add(second, "incumbent", "3699 by seat-2")
    for kind, count in {"incumbent": 2, "seat-lost": 1, "lost": 1}.items():
        assert kinds(log).count(kind) == count
    assert len(log.latest()) < 16
    (checkpoints,) = (event for event in log.latest() if event.kind == "checkpoint")
    assert checkpoints.text.startswith("checkpoint-28770")
    assert (checkpoints.count, checkpoints.since_s) == (959, 30.0)
    assert checkpoints.seconds == 28770.0
    for kind in ("seat", "seat-left"):
        seats = [event for event in log.latest() if event.kind == kind]
        assert len(seats) == ROWS_OF_SEATS
        assert sum(event.count for event in seats) == 14399


def test_a_row_of_seats_names_them_and_no_opposites_share_one():
    log = EventLog(0.0)
    for second, seat in enumerate(("0/cpu0", "1/cpu0")):
        log.add_seat(second, "seat", seat)
    assert log.latest()[-1].text == "2 seats joined: 0/cpu0, 1/cpu0"
    assert (log.latest()[-1].count, log.latest()[-1].since_s) == (2, 0.0)
    log.add_seat(2.0, "seat-left", "1/cpu0")
    log.add_seat(3.0, "seat", "1/cpu0")
    assert [(event.text, event.count) for event in log.latest()[1:]] == [
        ("1/cpu0 serves this run no more", 1), ("1/cpu0 joined", 1),
    ]  # fmt: skip
    for number in range(4096):
        log.add_seat(9.0, "seat-lost", f"w{number}/cpu0")
    text = "4,096 seats, the last w4095/cpu0 left with its worker"
    assert (log.latest()[-1].text, log.latest()[-1].count) == (text, 4096)


def test_a_failure_that_goes_on_is_one_row_until_it_is_over():
    log = EventLog(0.0)
    for second in range(116):
        log.add(second, "checkpoint-failed", "no space left")
    assert log.latest() == (
        EventRecord(115.0, "checkpoint-failed", "no space left", 116, 0.0),
    )
    log.add(116, "checkpoint-failed", "no permission")
    log.add(200, "checkpoint", "checkpoint-1")
    log.add(300, "checkpoint-failed", "no permission")
    assert [(event.count, event.since_s) for event in log.latest()] == [
        (116, 0.0), (1, 116.0), (1, 200.0), (1, 300.0),
    ]  # fmt: skip


def test_of_many_rows_of_a_kind_the_oldest_become_one():
    log = EventLog(5.0)
    for number in range(1000):
        log.add(5.0 + number, "seat-lost", f"seat-{number} left")
    rows = log.latest()
    assert len(rows) == ROWS_OF_A_KIND
    assert (rows[-1].seconds, rows[-1].text) == (999.0, "seat-999 left")
    assert [row.count for row in rows[1:]] == [1] * (ROWS_OF_A_KIND - 1)
    assert rows[0] == EventRecord(
        984.0, "seat-lost", "seat-984 left", 1001 - ROWS_OF_A_KIND, 0.0
    )


def test_whatever_happens_is_counted_bounded_and_in_order():
    draw = random.Random(7)
    log, noted = EventLog(0.0), Counter()
    names = ("seat", "seat-lost", "checkpoint", "checkpoint-failed", "incumbent")
    for second in range(5000):
        kind = draw.choice(names)
        noted[kind] += 1
        log.add(second, kind, draw.choice("abc"))
        if second % 500 == 0:
            rows = log.latest()
            found = Counter()
            for row in rows:
                found[row.kind] += row.count
                assert row.since_s <= row.seconds
            assert found == noted
            assert [row.seconds for row in rows] == sorted(row.seconds for row in rows)
            assert len(rows) <= ROWS_OF_A_KIND * len(names)
            assert rows[-1].kind == kind


def test_donations_are_one_row():
    """Of thousands of seats they would drive out all others."""
    log = EventLog(5.0)
    log.add(5.0, "incumbent", "12")
    log.add_donation(6.0, "a", 1)
    assert log.latest()[-1] == EventRecord(1.0, "donation", "a gave 1 root")
    log.add_donation(7.0, "b", 1000)
    log.add(7.5, "end", "")
    log.add_donation(8.0, "c", 99)
    assert kinds(log) == ["incumbent", "end", "donation"]
    text = "1,100 roots in all, the last by c"
    assert log.latest()[-1] == EventRecord(3.0, "donation", text, 3, 1.0)


def test_seats_that_runs_share_do_not_drive_out_what_is_found():
    world = World(spec_of(tiny(6)), seats=["a"])
    world.round(n_nodes=1000)
    incumbents = [e for e in world.coordinator.snapshot(0.0).events if "in" in e.kind]
    assert incumbents
    for second in range(500):
        world.coordinator.add_seat(seat_of("b"), float(second))
        world.coordinator.remove_seat("b", second + 0.5, lost=False)
    events = world.coordinator.snapshot(1000.0).events
    assert [e for e in events if e in incumbents] == incumbents
    assert len(events) < 20
