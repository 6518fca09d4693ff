"""Waiting until all seats have reported in full."""

import pytest

from dpbb.coordination.saves import Saves


def test_a_request_is_done_when_its_leases_have_reported_or_are_gone():
    saves = Saves()
    first = saves.request({"a", "b", "c"})
    assert not saves.done(first, {"a", "b", "c"})
    saves.reported("a")
    second = saves.request({"a", "b"})
    assert not saves.done(first, {"a", "b"})  # c is gone
    saves.reported("b")
    assert saves.done(first, {"a", "b"})
    assert not saves.done(second, {"a", "b"})  # a has not, since
    assert len(saves) == 1


def test_a_request_stays_done():
    saves = Saves()
    token = saves.request(())
    assert saves.done(token, {"a"})
    assert saves.done(token, {"a"})
    assert len(saves) == 0


@pytest.mark.parametrize("token", [0, 2])
def test_a_token_that_nobody_was_given_is_refused(token):
    saves = Saves()
    saves.request({"a"})
    with pytest.raises(ValueError, match="expected a token"):
        saves.done(token, ())
