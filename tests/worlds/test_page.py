from __future__ import annotations

import argparse
import os
import sys

import pytest

from dpbb.bench.cpu import TREES
from dpbb.errors import DpbbError
from tests.worlds.__main__ import main
from tests.worlds.page import browsers, suite
from tests.worlds.page.suite import Done

GOLDEN = TREES["ta030"].decomposed, TREES["ta030"].leaves


def done(pages, seconds, scheduler, counts=GOLDEN):
    frames, once = (600, 0.8) if pages else (0, 0.0)
    return Done(pages, counts, seconds, scheduler, 10.0, frames, once)


def args(**changes):
    parser = argparse.ArgumentParser()
    suite.add_arguments(parser)
    values = vars(parser.parse_args(["--tree", "ta030", "--workers", "1"]))
    return argparse.Namespace(**{**values, **changes})


def test_losses_are_those_of_pairs(capsys):
    """A machine that gets slower from pair to pair is no loss."""
    pairs = [
        (done(0, 10.0, 0.2), done(2, 10.0, 0.5)),
        (done(0, 20.0, 0.4), done(2, 20.0 / 0.99, 1.0 / 0.99)),
        (done(0, 40.0, 0.8), done(2, 40.0 / 0.98, 2.0 / 0.98)),
    ]
    suite.report(pairs, 3)
    out = capsys.readouterr().out
    assert "median 1.00%, from 0.00% to 2.00%" in out
    assert "slower nodes included: median 1.00%, from 1.00% to 1.00%" in out
    assert "3.00% of a core more (3.00% to 3.00%), that is 1.00% of the run's 3" in out
    assert "a page cost the scheduler 0.40 processor seconds once (0.40 to" in out


@pytest.mark.parametrize(
    ("counts", "code"), [(GOLDEN, 0), ((GOLDEN[0], GOLDEN[1] + 1), 1)]
)
def test_a_wrong_count_is_an_error(monkeypatch, capsys, counts, code):
    pair = done(0, 10.0, 0.2), done(2, 10.0, 0.5, counts)
    monkeypatch.setattr(suite, "measure", lambda *_: [pair])
    assert suite.run(args()) == code
    assert str(sorted({GOLDEN, counts})) in capsys.readouterr().out


def test_without_a_browser_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(browsers.shutil, "which", lambda _: None)
    monkeypatch.setattr(
        browsers, "find_spec", lambda name: None if name == "absent" else object()
    )
    assert main(["page", "--tree", "ta030"]) == 1
    assert (
        "expected Playwright and Chromium, got no Chromium" in capsys.readouterr().err
    )
    monkeypatch.setattr(browsers, "find_spec", lambda _: None)
    with pytest.raises(DpbbError, match="got no Playwright"):
        browsers.Browsers(1, None)


def test_bad_numbers_are_refused(capsys):
    assert main(["page", "--pages", "0"]) == 2
    assert "--pages: expected at least 1, got 0" in capsys.readouterr().err


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two cores to bind to",
)
def test_browsers_have_a_core_of_their_own_and_all_are_given_back():
    before = os.sched_getaffinity(0)
    with suite.split_cores() as (cores, browser_core):
        assert os.sched_getaffinity(0) == set(cores)
        assert {*cores, browser_core} == before
        assert browser_core not in cores
    assert os.sched_getaffinity(0) == before


def test_browsers_that_die_are_an_error(monkeypatch):
    monkeypatch.setattr(browsers, "what_is_missing", lambda: None)
    monkeypatch.setattr(browsers.sys, "executable", sys.executable)
    with browsers.Browsers(1, 10_000) as found, pytest.raises(DpbbError, match="ended"):
        found.open("http://127.0.0.1:1/")  # there is no such core
