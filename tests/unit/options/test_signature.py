"""What ``help`` and notebooks say of functions that take options."""

import inspect

import jedi
import pytest

import dpbb
from dpbb.estimation.result import USED_OPTIONS
from dpbb.options import OPTIONS


@pytest.mark.parametrize("name", ["solve", "submit", "resume", "SolveOptions"])
def test_every_option_is_completed(name):
    function = getattr(dpbb, name)
    assert inspect.signature(function).parameters.keys() >= OPTIONS.keys()
    typed = jedi.Interpreter(f"dpbb.{name}(time_l", [{"dpbb": dpbb}])
    assert "time_limit_s=" in [one.name for one in typed.complete()]


def test_an_estimate_has_its_own():
    parameters = inspect.signature(dpbb.estimate).parameters
    assert parameters.keys() >= set(USED_OPTIONS)
    assert "time_limit_s" not in parameters
