"""The events of a run: bounded, in order, and none is driven out uncounted."""

import random
from collections import Counter

from dpbb.coordination.events import ROWS_OF_A_KIND, EventLog
from dpbb.coordination.snapshot import EventRecord


def test_what_happened_in_a_night_is_there_in_the_morning():
    """Eight hours of checkpoints, and of seats that other runs get and give back."""
    log = EventLog(0.0)
    log.add(1.0, "incumbent", "3720 by start")
    for second in range(2, 8 * 3600, 2):
        log.add(second, "seat", f"seat-{second % 7}")
        log.add(second, "donation", "seat-1 gave 3 roots")
        if second % 30 == 0:
            log.add(second, "checkpoint", f"checkpoint-{second}, 6 bytes")
        if second == 4000:
            log.add(second, "seat-lost", "seat-9")
            log.add(second, "incumbent", "3699 by seat-2")
    rows = log.latest()
    count = Counter(row.kind for row in rows)
    assert count == {
        "incumbent": 2, "seat": ROWS_OF_A_KIND, "donation": 1, "checkpoint": 1,
        "seat-lost": 1,
    }  # fmt: skip
    (checkpoints,) = (event for event in rows if event.kind == "checkpoint")
    assert checkpoints == EventRecord(
        28770.0, "checkpoint", "checkpoint-28770, 6 bytes", 959, 30.0
    )
    assert "seat-9 went away with its process" in {event.text for event in rows}
    assert sum(event.count for event in rows if event.kind == "seat") == 14399


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
