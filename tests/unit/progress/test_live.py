from __future__ import annotations

import io
import math
import re
import sys
import threading
from dataclasses import replace

import pytest
from rich.console import Console

from dpbb.progress.base import STARTING
from dpbb.progress.live import LiveProgress, SteadyConsole
from tests.unit.progress.fakes import BUSY, SNAPSHOT

ERASE = "\x1b[2K"
HIDE_CURSOR = "\x1b[?25l"


def panel(snapshot, *, width=80, encoding="utf-8", dashboard="", alert=""):
    view = LiveProgress(io.StringIO())
    view.last, view.dashboard, view._alert = snapshot, dashboard, alert
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    Console(file=file, width=width, color_system=None).print(view)
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 72, 80, 100, 250])
@pytest.mark.parametrize("snapshot", [STARTING, SNAPSHOT, BUSY])
def test_no_line_is_wider_than_the_terminal(width, snapshot):
    long = "http://a-host-with-a-long-name.example.org:8787/proxy/dpbb"
    for line in panel(snapshot, width=width, dashboard=long, alert="x" * 300):
        assert len(line) <= min(width, 250)
    assert len(panel(snapshot, width=width)[0]) <= min(width, 100)


def test_terminals_without_unicode_get_ascii():
    text = panel(BUSY, encoding="ascii")
    assert text[0].startswith("-- ta021")


def test_names_cannot_steer_the_terminal():
    text = "".join(panel(replace(SNAPSHOT, instance="a\x1b[2Jb[bold]")))
    assert "a?[2Jb[bold]" in text


@pytest.fixture
def stream():
    return io.StringIO()


def live(stream, width=80):
    console = SteadyConsole(
        file=stream, force_terminal=True, width=width, height=30, highlight=False
    )
    return LiveProgress(stream, console=console)


def rows(stream):
    """What is left on the terminal: lines that are not erased again."""
    import pyte

    screen = pyte.Screen(80, 30)
    screen.set_mode(pyte.modes.LNM)
    pyte.Stream(screen).feed(stream.getvalue())
    return [line.rstrip() for line in screen.display if line.strip()]


def test_rows_stay_and_the_view_goes(stream):
    progress = live(stream)
    progress.note("engine cpu (asked for)")
    progress.note("dashboard http://127.0.0.1:8787/dpbb")
    progress.incumbent(0.3, 2300, 2232)
    progress.offset_s = 1.0
    progress.update(SNAPSHOT)
    progress.update(replace(SNAPSHOT, seconds=13.0))
    progress.update(replace(SNAPSHOT, seconds=14.0, value=2296))
    assert any(line.startswith("── ta021, running") for line in rows(stream))
    progress.finish(replace(SNAPSHOT, seconds=20.0, value=2296, lower_bound=2296))
    first, *rest = rows(stream)
    assert first == "engine cpu (asked for)"
    assert [line.split()[:2] for line in rest] == [
        ["Time", "Nodes"],
        ["H", "0.3s"],
        ["H", "13.4s"],
        ["H", "15.0s"],
        ["21.0s", "41.2"],
    ]
    assert HIDE_CURSOR not in stream.getvalue()


def test_what_a_narrower_terminal_wraps_is_erased(stream):
    progress = live(stream)
    progress.update(BUSY)
    progress._live.refresh()
    drawn = stream.getvalue().rsplit(ERASE, 1)[-1].splitlines()
    plain = [len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line)) for line in drawn]
    plain.append(0)  # the last line is empty
    progress._live.auto_refresh, progress._console.width = False, 30
    stream.truncate(0)
    progress._live.refresh()
    ups = stream.getvalue().count("\x1b[1A")
    assert 1 + ups == sum(max(1, math.ceil(n / 30)) for n in plain) > len(plain)
    progress.close()


def test_closing_leaves_streams_and_threads_as_they_were(stream):
    streams, threads = (sys.stdout, sys.stderr), set(threading.enumerate())
    progress = live(stream)
    progress.update(BUSY)
    assert sys.stderr is not streams[1]  # what others print goes above the view
    progress.close()
    progress.close()
    progress.update(BUSY)  # does not open it again
    for thread in set(threading.enumerate()) - threads:
        thread.join(60)
    assert (sys.stdout, sys.stderr) == streams
    assert set(threading.enumerate()) <= threads  # others' may end meanwhile


def test_what_others_print_goes_above_the_view(stream):
    progress = live(stream)
    progress.update(SNAPSHOT)
    sys.stderr.write("a warning\n")
    assert rows(stream)[2] == "a warning"
    assert rows(stream)[3].startswith("── ta021")
    progress.close()


def test_an_alert_takes_no_lock_and_stays_at_the_end(stream, capsys):
    progress = live(stream)
    progress.alert("dpbb: too early")  # nothing is drawn yet
    assert capsys.readouterr().err == "dpbb: too early\n"
    progress.update(SNAPSHOT)
    lock = progress._live._lock
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    progress.alert("dpbb: stopping")  # would wait for ever
    done.set()
    thread.join()
    progress.close()
    assert rows(stream)[-1] == "dpbb: stopping"


def test_an_alert_stays_before_what_is_written_after_it(stream):
    progress = live(stream)
    progress.update(SNAPSHOT)
    progress.alert("dpbb: stopping")
    progress.note("saved in a folder")
    progress.close()
    assert rows(stream)[-2:] == ["dpbb: stopping", "saved in a folder"]
