"""Failures of a run."""

from dpbb.cluster.scheduler.open_run import FIRST_PAUSE_S, SEAT_FAILURES, OpenRun


def test_seat_rests_longer_after_each_failure():
    """Twice as long each time, until it is left out."""
    run = OpenRun(None, b"")
    pauses = []
    for unit in range(SEAT_FAILURES):
        assert not run.excluded
        assert run.note_failure("a", unit, 10.0) is None
        pauses.append(run.resting["a"] - 10.0)
    assert pauses == [FIRST_PAUSE_S * 2**i for i in range(SEAT_FAILURES)]
    assert run.excluded == {"a"}
    assert run.rests("a", 10.0)
    assert not run.rests("a", 10.0 + pauses[-1])
    assert not run.rests("b", 10.0)
