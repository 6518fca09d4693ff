"""The tuner of a GPU session against devices whose speed is a formula."""

import pytest

from dpbb.engines.gpu import tuning as tuning_module
from dpbb.engines.gpu.tuning import SLICES_S, TURN_S, Autotuner

START = SLICES_S[1]


@pytest.fixture(autouse=True)
def forgets(monkeypatch):
    monkeypatch.setattr(tuning_module, "_found", {})


def longer_is_better(slice_s):
    """Every slice costs 4 ms."""
    return 1e9 * (1 - 0.004 / slice_s)


def run(tuner, rate, slices=10_000):
    """Explore until the tuner is done; returns all lengths that were used."""
    used = []
    for _ in range(slices):
        if tuner.done:
            return used
        slice_s = tuner.slice_s
        used.append(slice_s)
        tuner.note(int(rate(slice_s) * slice_s), slice_s, steady=True)
    raise AssertionError(f"not done after {slices} slices")


def test_longer_slices_win_where_their_ends_cost():
    tuner = Autotuner()
    run(tuner, longer_is_better)
    assert tuner.slice_s == 0.4  # 0.8 gains half a percent more


def test_slices_stay_where_they_do_not_matter():
    tuner = Autotuner()
    used = run(tuner, lambda _: 1e9)
    assert tuner.slice_s == START
    assert set(used) == set(SLICES_S[:3])


def test_shorter_slices_win_where_long_ones_are_slow():
    tuner = Autotuner()
    run(tuner, lambda slice_s: 1e9 / slice_s)
    assert tuner.slice_s == SLICES_S[0]


def test_lengths_take_turns():
    """A champion and a challenger see the same parts of the tree."""
    tuner = Autotuner()
    used = run(tuner, lambda _: 1e9)
    turns = [(START, 0.4), (START, SLICES_S[0])]
    expected = [
        slice_s
        for pair in turns
        for _ in range(tuning_module.TURNS)
        for slice_s in pair
        for _ in range(round(TURN_S / slice_s))
    ]
    assert used == expected


def test_slices_that_are_not_steady_decide_nothing():
    tuner = Autotuner()
    for _ in range(100):
        tuner.note(10**9, START, steady=True)
        tuner.note(1, START, steady=False)
        assert tuner.slice_s == START
    assert not tuner.done
    run(tuner, longer_is_better)
    assert tuner.slice_s == 0.4


def test_what_was_found_is_kept_for_the_next_session_of_the_shape():
    run(Autotuner("shape"), longer_is_better)
    again = Autotuner("shape")
    assert again.done
    assert again.slice_s == 0.4
    assert not Autotuner("another").done


def test_what_is_given_is_not_tuned():
    tuner = Autotuner("shape", 0.03)
    assert run(tuner, longer_is_better) == []
    assert tuner.slice_s == 0.03
    run(Autotuner(None), longer_is_better)
    assert not Autotuner("shape").done  # nor kept for those who give nothing
