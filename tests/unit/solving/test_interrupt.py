"""Who is asked to stop by Ctrl-C, and who is not."""

import signal
import threading

import pytest

from dpbb.solving.interrupt import interruptible


@pytest.fixture(autouse=True)
def python_handles_it():
    """Whoever started the tests, and whatever ran before in this process."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_one_is_noted_and_the_second_one_raises():
    told = []
    with interruptible(told.append) as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        assert len(told) == 1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_who_handles_it_already_goes_on_to_do_so():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("mine"))
    try:
        with interruptible(print) as interrupted:
            signal.raise_signal(signal.SIGINT)
        assert heard == ["mine"]
        assert not interrupted()
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_changes_nothing():
    found = []

    def look():
        with interruptible(print) as interrupted:
            found.extend([signal.getsignal(signal.SIGINT), interrupted()])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler, False]
