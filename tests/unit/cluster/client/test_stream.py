"""Functions that are called when a run finds something."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from dpbb.cluster.client.stream import Callbacks


def states(*pairs):
    """Return what gives these states of value and lower bound, the last one the end."""
    left = [
        SimpleNamespace(run_id="run", value=value, lower_bound=bound)
        for value, bound in pairs
    ]

    async def watch(version, _timeout):
        state = left.pop(0)
        return version + 1, not left, state

    return watch


def follow(callbacks):
    async def whole():
        callbacks.start()
        callbacks.start()  # once
        await callbacks.told(10.0)

    asyncio.run(whole())


@pytest.mark.parametrize("in_thread", [False, True])
def test_each_change_of_a_number_is_told_once(in_thread):
    watch = states((None, 1), (9, 1), (9, 2), (7, 2), (7, 2))
    callbacks = Callbacks(watch, in_thread=in_thread)
    values, bounds = [], []
    callbacks.add("value", lambda state: values.append(state.value))
    callbacks.add("lower_bound", lambda state: bounds.append(state.lower_bound))
    follow(callbacks)
    assert (values, bounds) == ([9, 7], [1, 2])


def test_a_callback_that_raises_does_not_end_the_others(caplog):
    callbacks, values = Callbacks(states((9, 1), (7, 1)), in_thread=False), []
    callbacks.add("value", lambda _: 1 / 0)

    async def note(state):
        values.append(state.value)

    callbacks.add("value", note)  # awaited here
    follow(callbacks)
    assert values == [9, 7]
    (said,) = caplog.records
    assert (said.name, said.exc_info[0]) == ("asyncio", ZeroDivisionError)
