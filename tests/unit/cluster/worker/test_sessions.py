"""Sessions are kept from a run's unit to its next, and freed at its end."""

import pytest

from dpbb.cluster.worker.sessions import SeatSessions
from dpbb.engines.base import Device
from dpbb.engines.reference import ReferenceSession
from dpbb.errors import EngineUnavailable
from tests.unit.cluster.support import tiny_spec


class FakeSession:
    def __init__(self, log):
        self.log, self.number = log, len(log)
        log.append("open")

    def close(self):
        self.log[self.number] = "closed"


@pytest.fixture
def log(monkeypatch):
    """States of the sessions that were opened."""
    states = []
    monkeypatch.setattr(SeatSessions, "_open", lambda *_: FakeSession(states))
    return states


def use(seat, spec, *, reusable):
    with seat.session(spec, 10) as slot:
        slot.reusable = reusable


def test_session_is_reused_if_it_is_empty(log):
    """One that still holds roots is closed: they belong to another unit."""
    seat, spec = SeatSessions(Device("cpu", "x")), tiny_spec()
    use(seat, spec, reusable=True)
    use(seat, spec, reusable=True)
    assert log == ["open"]
    use(seat, spec, reusable=False)
    use(seat, spec, reusable=True)
    assert log == ["closed", "open"]


def test_session_is_closed_when_the_task_raises(log):
    """Its state is unknown."""
    seat, spec = SeatSessions(Device("cpu", "x")), tiny_spec()
    with pytest.raises(ArithmeticError), seat.session(spec, 10):
        raise ArithmeticError
    assert log == ["closed"]


def test_runs_have_sessions_of_their_own(log):
    """Forgetting one run leaves the other's."""
    seat, first, second = SeatSessions(Device("cpu", "x")), tiny_spec(), tiny_spec()
    use(seat, first, reusable=True)
    use(seat, second, reusable=True)
    seat.forget(first.run_id)
    assert log == ["closed", "open"]
    seat.close()
    assert log == ["closed", "closed"]


def test_run_forgotten_in_use_is_closed_by_its_task(log):
    """Not under its feet."""
    seat, spec = SeatSessions(Device("cpu", "x")), tiny_spec()
    with seat.session(spec, 10) as slot:
        slot.reusable = True
        seat.forget(spec.run_id)
        assert log == ["open"]
    assert log == ["closed"]
    with seat.session(spec, 10) as slot:
        slot.reusable = True
        seat.close()
    assert log == ["closed", "closed"]


def test_auto_is_what_the_device_can_run():
    """A problem that the CPU engine does not take goes to the reference engine."""
    seat, spec = SeatSessions(Device("cpu", "x")), tiny_spec()
    with seat.session(spec, 10) as slot:
        assert isinstance(slot.session, ReferenceSession)


def test_engine_that_cannot_run_is_named():
    seat, spec = SeatSessions(Device("cpu", "x")), tiny_spec(engine="cpu")
    with pytest.raises(EngineUnavailable, match="no model of tiny"):
        use(seat, spec, reusable=False)
