"""Calls about a run, with a scheduler that is not there, or gone, or slow."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from dpbb.cluster.client.run import Run
from dpbb.errors import OptionError


def calls_of(**handlers):
    scheduler = SimpleNamespace(**handlers)
    return Run(SimpleNamespace(scheduler=scheduler, _asynchronous=True), "run")


@pytest.mark.parametrize("timeout", [float("nan"), True, "1", [], 1j, 10**400])
def test_a_timeout_is_a_number(timeout):
    """With NaN nothing was ever late, and nothing waited."""
    with pytest.raises(OptionError, match="timeout: expected a number, got"):
        asyncio.run(calls_of()._is_over(timeout))
