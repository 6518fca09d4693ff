"""The events of a run: bounded, in order, and none is driven out uncounted."""

import random
from collections import Counter

from dpbb.coordination.events import ROWS_OF_A_KIND, EventLog


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
