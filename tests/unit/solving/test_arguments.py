"""What fits an instance, and what is refused before anything is started."""

import signal
import threading

import pytest

from dpbb.errors import OptionError
from dpbb.options import SolveOptions
from dpbb.progress import Progress
from dpbb.solving.arguments import Call, check_engine, check_fit, numbered
from tests.unit.solving.test_plan import PROBLEM
from tests.waiting import WaitingJobs


def test_permutation_of_another_size_is_refused():
    three = (0, 1, 2)
    with pytest.raises(OptionError, match=r"^initial: expected 4 jobs, got 3"):
        numbered(PROBLEM, SolveOptions(initial=three))
    with pytest.raises(OptionError, match=r"^root_order: expected 4 jobs, got 3"):
        numbered(PROBLEM, SolveOptions(tuning={"root_order": three}))


def test_a_rule_that_does_not_fit_the_problem_is_refused():
    """Before anything is started; an engine would do so after a second."""
    waiting = WaitingJobs((1, 2), (1, 1), (9, 9), (frozenset(), {0}), ("front",))
    check_fit(waiting, SolveOptions(branching="front"))
    for rule in ("minmin", "minbranch"):
        with pytest.raises(OptionError, match=f"expected front for .*, got '{rule}'"):
            check_fit(waiting, SolveOptions(branching=rule))


def test_a_permutation_without_a_cost_is_refused():
    waiting = WaitingJobs((1, 2), (1, 1), (9, 9), (frozenset(), {0}))
    check_fit(waiting, SolveOptions(initial=(0, 1)))
    with pytest.raises(OptionError, match="permutation: expected an order of a leaf"):
        check_fit(waiting, SolveOptions(initial=(1, 0)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tuning": {"pool_size": 4096}}, "pool_size: expected engine pool, got engin"),
        ({"tuning": {"balance": "steal"}, "engine": "cpu"}, "got engine cpu"),
    ],
)
def test_options_of_another_engine_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        check_engine(SolveOptions(**options))


def test_options_of_the_engine_that_explores():
    check_engine(SolveOptions(engine="pool", tuning={"pool_size": 4096}))
    check_engine(SolveOptions(tuning={"explorers": 4096}))


@pytest.fixture
def python_handles_it():
    """Whoever started the tests, and whatever ran before in this process."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Told(Progress):
    def __init__(self):
        self.texts = []

    def alert(self, text):
        self.texts.append(text)


def call_of():
    return Call(SolveOptions(), Told(), lambda: False, began=0.0)


@pytest.mark.usefixtures("python_handles_it")
def test_the_first_one_is_noted_and_the_second_one_raises():
    with call_of().interruptible() as call:
        assert not call.interrupted()
        signal.raise_signal(signal.SIGINT)
        assert call.interrupted()
        assert call.should_stop()
        assert len(call.progress.texts) == 1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("python_handles_it")
def test_who_handles_it_already_goes_on_to_do_so():
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("mine"))
    try:
        with call_of().interruptible() as call:
            signal.raise_signal(signal.SIGINT)
        assert heard == ["mine"]
        assert not call.interrupted()
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("python_handles_it")
def test_another_thread_changes_nothing():
    found = []

    def look():
        with call_of().interruptible() as call:
            found.extend([signal.getsignal(signal.SIGINT), call.interrupted()])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler, False]
