"""Whoever waits longer than a second is told what for, in real text."""

from __future__ import annotations

import io
import json

import pytest

import dpbb as package
from dpbb.progress import JsonLines, ProgressPrinter
from tests.cluster.support import local_cluster

pytestmark = pytest.mark.cluster

HOW = {"cutoff": 1081, "engine": "cpu"}


class Stop:
    """Ends a solve when a text has been written."""

    def __init__(self, stream, text):
        self.stream, self.text = stream, text

    def __call__(self):
        return self.text in self.stream.getvalue()


@pytest.fixture(scope="module")
def empty():
    """A scheduler, and nobody who explores."""
    with local_cluster(0) as (cluster, _):
        yield cluster.scheduler_address


@pytest.mark.parametrize("shows", [ProgressPrinter, JsonLines])
def test_a_cluster_without_workers(empty, shows):
    stream = io.StringIO()
    text = "no workers connected"
    result = package.solve(
        "ta003", scheduler=empty, progress=shows(stream),
        should_stop=Stop(stream, text), **HOW,
    )  # fmt: skip
    assert result.status == "unknown"
    if shows is ProgressPrinter:
        assert f"s waiting: {text}\n" in stream.getvalue()
    else:
        rows = [json.loads(line) for line in stream.getvalue().splitlines()]
        assert text in [row["waits_for"] for row in rows]
