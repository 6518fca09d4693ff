"""Whoever waits longer than a second is told what for, in real text."""

from __future__ import annotations

import io
import json
from threading import Event

import pytest
from distributed import LocalCluster

import dpbb as package
from dpbb.cli import main
from dpbb.engines.cpu.engine import CpuEngine
from dpbb.progress import JsonLines, ProgressPrinter
from tests.cluster.support import in_process_cluster

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
    with LocalCluster(
        n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("shows", [ProgressPrinter, JsonLines])
def test_a_cluster_without_workers(empty, shows):
    stream = io.StringIO()
    text = "no workers connected"
    result = package.solve(
        "ta003",
        scheduler=empty,
        progress=shows(stream),
        should_stop=Stop(stream, text),
        **HOW,
    )
    assert result.status == "unknown"
    if shows is ProgressPrinter:
        assert f"s waiting: {text}\n" in stream.getvalue()
    else:
        rows = [json.loads(line) for line in stream.getvalue().splitlines()]
        assert text in [row["waits_for"] for row in rows]


def test_a_run_that_is_submitted_where_nobody_explores(empty, capsys):
    arguments = ["ta003", "--cutoff", "1081", "--scheduler", empty]
    assert main(["submit", *arguments]) == 0
    run_id, said = capsys.readouterr()
    assert "dpbb: waiting: no workers connected\n" in said
    stream = io.StringIO()
    from distributed import Client

    from dpbb.progress import show

    with Client(empty, set_as_default=False) as client:
        run = package.attach(run_id.strip(), client)
        shown = ProgressPrinter(stream)
        show(run.stream(0.1), shown, Stop(stream, "waiting: no workers connected"))
        run.stop()
        assert run.result().status == "unknown"
        run.close()


def test_an_engine_that_compiles(monkeypatch):
    """Until it is done nothing is explored, and the rows say why."""
    stream, ready = io.StringIO(), Event()

    class Printer(ProgressPrinter):
        def update(self, snapshot):
            super().update(snapshot)
            if "waiting: compiling on 1 seat\n" in stream.getvalue():
                ready.set()

    def open_late(*given, opens=CpuEngine.open, **how):
        assert ready.wait(60)
        return opens(*given, **how)

    with in_process_cluster() as (_, client):
        monkeypatch.setattr(CpuEngine, "open", open_late)
        result = package.solve("ta003", client=client, progress=Printer(stream), **HOW)
    assert result.status == "infeasible_cutoff"
    assert stream.getvalue().count("waiting:") == 1
