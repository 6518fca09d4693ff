"""The tuner of a GPU session against devices whose speed is a formula."""

from dataclasses import dataclass, replace

import pytest

from dpbb.engines.gpu import settings as settings_module
from dpbb.engines.gpu.settings import Settings
from dpbb.engines.gpu.shape import KernelShape
from dpbb.engines.gpu.tuning import SLICES_S, TURN_S, Autotuner, Setting
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.flowshop.models.lb1_cuda import Lb1
from dpbb.options import BranchingRule, Tuning

START = Setting(SLICES_S[1], 1.0, 128)


def longer_is_better(setting):
    """Every slice costs 4 ms; explorers as many as there are."""
    return 1e9 * setting.share * (1 - 0.004 / setting.slice_s)


def half_is_better(setting):
    return 1e9 * (1.0 if setting.share == 0.5 else 0.9 if setting.share < 1 else 0.8)


def wide_is_better(setting):
    return 1e9 * setting.block_size


def run(tuner, rate, slices=10_000):
    """Explore until the tuner is done; returns all settings that were used."""
    used = []
    for _ in range(slices):
        if tuner.done:
            return used
        setting = tuner.setting
        used.append(setting)
        nodes = int(rate(setting) * setting.slice_s)
        tuner.note(nodes, setting.slice_s, steady=True)
    raise AssertionError(f"not done after {slices} slices")


def test_longer_slices_win_where_their_ends_cost():
    tuner = Autotuner(START)
    run(tuner, longer_is_better)
    assert tuner.best == Setting(0.4, 1.0, 128)  # 0.8 gains half a percent more


def test_slices_stay_where_they_do_not_matter():
    tuner = Autotuner(START)
    used = run(tuner, lambda _: 1e9)
    assert tuner.best == START
    assert {one.slice_s for one in used} == set(SLICES_S[:3])


def test_shorter_slices_win_where_long_ones_are_slow():
    tuner = Autotuner(START)
    run(tuner, lambda setting: 1e9 / setting.slice_s)
    assert tuner.best.slice_s == SLICES_S[0]


def test_fewer_explorers_win_where_they_are_faster():
    tuner = Autotuner(START, tunes_slice=False)
    used = run(tuner, half_is_better)
    assert tuner.best == replace(START, share=0.5)
    assert {one.slice_s for one in used} == {START.slice_s}


def test_settings_take_turns():
    """A champion and a challenger see the same parts of the tree."""
    tuner = Autotuner(START, tunes_slice=False)
    used = run(tuner, longer_is_better)
    shares = [one.share for one in used]
    per_turn = round(TURN_S / START.slice_s)
    expected = ([1.0] * per_turn + [0.75] * per_turn) * 3
    assert shares == expected
    assert tuner.best == START


def test_slices_that_are_not_steady_decide_nothing():
    tuner = Autotuner(START)
    for _ in range(100):
        tuner.note(10**9, START.slice_s, steady=True)
        tuner.note(1, START.slice_s, steady=False)
        assert tuner.setting == START
    assert not tuner.done
    run(tuner, longer_is_better)
    assert tuner.best.slice_s == 0.4


def test_block_sizes_are_tried_when_they_are_there():
    ready = {256: False, 64: None}
    asked = []

    def prepare(size):
        asked.append(size)
        return ready[size]

    tuner = Autotuner(
        START,
        tunes_slice=False,
        tunes_explorers=False,
        block_sizes=(64, 256),
        prepare=prepare,
    )
    for _ in range(10):
        assert tuner.setting == START  # goes on meanwhile
        tuner.note(10**9, 0.2, steady=True)
    assert not tuner.done
    ready[256] = True
    run(tuner, wide_is_better)
    assert tuner.best == replace(START, block_size=256)
    assert asked.count(64) == 1


# -- settings --------------------------------------------------------------------------

MODEL = Lb1(20, 20, wide=False)
SHAPE = KernelShape(MODEL, BranchingRule.MINMIN)


@dataclass
class FakeKernels:
    shape: KernelShape
    device: int = 0
    exploration = "explore"
    failure = EngineUnavailable("no registers")

    def __post_init__(self):
        if self.shape.warps == 16:
            raise self.failure

    def of_block(self, threads):
        return replace(self, shape=replace(self.shape, warps=threads // 32))


@pytest.fixture(autouse=True)
def forgets(monkeypatch):
    monkeypatch.setattr(settings_module, "_found", {})

    class Thread:
        def __init__(self, target, args, **_):
            self.start = lambda: target(*args)

    monkeypatch.setattr(settings_module.threading, "Thread", Thread)


def explore(settings, rate, slices=2000):
    for _ in range(slices):
        assert settings.kernels.shape.warps * 32 == settings.now.block_size
        now = settings.now
        settings.note(int(rate(now) * now.slice_s), now.slice_s, steady=True)


def test_what_was_found_is_kept_for_the_next_session_of_the_shape():
    first = Settings(FakeKernels(SHAPE), Tuning(), tunes_launch=True)
    explore(first, wide_is_better)
    assert first.now == Setting(0.2, 1.0, 256)  # and 512 could not be compiled
    second = Settings(FakeKernels(SHAPE), Tuning(), tunes_launch=True)
    assert second.now == first.now
    assert second.kernels.shape.warps == 8
    for model in (replace(MODEL, n_jobs=21), replace(MODEL, wide=True)):
        other = replace(SHAPE, model=model)
        assert Settings(FakeKernels(other), Tuning(), tunes_launch=True).now == START
    elsewhere = Settings(FakeKernels(SHAPE, 1), Tuning(), tunes_launch=True)
    assert elsewhere.now == START


@pytest.mark.parametrize(
    "failure", [OptionError("too many threads"), RuntimeError("CUDA_ERROR: what?")]
)
def test_a_block_size_that_fails_is_passed_over(monkeypatch, caplog, failure):
    """Whatever the failure is, the tuner gets an answer and finishes."""
    monkeypatch.setattr(FakeKernels, "failure", failure)
    settings = Settings(FakeKernels(SHAPE), Tuning(), tunes_launch=True)
    explore(settings, wide_is_better)
    assert settings.now == Setting(0.2, 1.0, 256)
    assert list(settings_module._found.values()) == [settings.now]  # it is done
    assert caplog.text.count(f"no blocks of 512 threads: {failure}") == 1


@pytest.mark.parametrize(
    ("tuning", "stays"),
    [
        (Tuning(slice_s=0.03), ("slice_s", 0.03)),
        (Tuning(explorers=4096), ("share", 1.0)),
        (Tuning(block_size=128), ("block_size", 128)),
    ],
)
def test_what_is_given_is_not_tuned(tuning, stays):
    def rate(setting):
        return longer_is_better(setting) * setting.block_size / setting.share**2

    settings = Settings(FakeKernels(SHAPE), tuning, tunes_launch=True)
    name, value = stays
    before = settings.now
    for _ in range(2000):
        assert getattr(settings.now, name) == value
        now = settings.now
        settings.note(int(rate(now) * now.slice_s), now.slice_s, steady=True)
    assert settings.now != before  # the others are
    assert not settings_module._found  # nor kept for those who give nothing


def test_blocks_stay_when_explorers_are_given():
    """Larger blocks would be more explorers where few were asked for."""
    settings = Settings(FakeKernels(SHAPE), Tuning(explorers=32), tunes_launch=True)
    explore(settings, lambda one: wide_is_better(one) * one.slice_s)
    assert settings.now == Setting(SLICES_S[-1], 1.0, 128)


def test_launches_that_may_not_change_leave_the_slice():
    settings = Settings(FakeKernels(SHAPE), Tuning(), tunes_launch=False)
    explore(settings, lambda one: longer_is_better(one) / one.share**2 * one.block_size)
    assert settings.now == Setting(0.4, 1.0, 128)
