"""What a process of Dask's is told when it preloads dpbb."""

import logging

import pytest

from dpbb.cluster.preload import show_warnings


@pytest.fixture
def loggers():
    """Loggers as dpbb and Dask have them in a process of Dask's own command."""
    ours, theirs = logging.Logger("ours"), logging.Logger("theirs")
    ours.addHandler(logging.NullHandler())
    theirs.addHandler(logging.StreamHandler())
    theirs.propagate = False
    return ours, theirs


def test_warnings_are_where_dasks_are(loggers):
    ours, theirs = loggers
    show_warnings(ours, theirs)
    show_warnings(ours, theirs)
    assert ours.handlers[1:] == theirs.handlers
    assert (ours.level, ours.propagate) == (logging.WARNING, False)


def test_a_log_that_is_set_up_stays_as_it_is(loggers):
    ours, theirs = loggers
    ours.addHandler(logging.StreamHandler())
    before = list(ours.handlers)
    show_warnings(ours, theirs)
    assert ours.handlers == before
    assert ours.level == logging.NOTSET
