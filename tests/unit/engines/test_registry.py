import sys
from types import ModuleType

import pytest

from dpbb.engines import registry
from dpbb.engines.reference import ReferenceEngine
from dpbb.errors import EngineUnavailable, OptionError
from dpbb.options import BranchingRule, TreeOptions
from tests.oracle import TinyFlowShop

PROBLEM = TinyFlowShop(((3, 9), (8, 1)))


def fake(name, availability=None, supports=None):
    class Fake(ReferenceEngine):
        def availability(self):
            return availability

        def supports(self, problem, tree):
            return supports

    Fake.name = name
    return Fake


@pytest.fixture
def install(monkeypatch):
    """Put engine classes in the place of the fast engines; None: no such module."""

    def install(**classes):
        for name, engine in classes.items():
            module = ModuleType(f"fake_{name}")
            module.Fake = engine
            found = module if engine is not None else None
            monkeypatch.setitem(sys.modules, f"fake_{name}", found)
            monkeypatch.setitem(registry.ENGINES, name, f"fake_{name}:Fake")

    return install


def test_engines_are_loaded_by_name():
    engine = registry.get_engine("reference")
    assert isinstance(engine, ReferenceEngine)
    with pytest.raises(
        OptionError, match=r"one of gpu, cpu, reference, pool, got 'fast'"
    ):
        registry.get_engine("fast")
    with pytest.raises(OptionError, match=r"one of auto, gpu, .*, got 'fast'"):
        registry.choose_engine("fast", PROBLEM, TreeOptions())


def test_auto_takes_the_first_that_runs_and_says_why(install):
    def choose():
        engine, reason = registry.choose_engine("auto", PROBLEM, TreeOptions())
        return engine.name, reason

    install(gpu=fake("gpu"), cpu=fake("cpu"))
    assert choose() == ("gpu", "gpu (the fastest engine)")
    install(gpu=fake("gpu", availability="no CUDA device found"))
    assert choose() == ("cpu", "cpu (no gpu: no CUDA device found)")
    install(cpu=fake("cpu", supports="bound lb9 is not known"))
    name, reason = choose()
    assert name == "reference"
    assert "no gpu: no CUDA device found; no cpu: bound lb9 is not known" in reason


def test_a_named_engine_that_cannot_run_is_an_error(install):
    install(gpu=None, cpu=fake("cpu", supports="it takes flow shops only"))
    for name, reason in (
        ("gpu", "cannot be loaded"),
        ("cpu", "it takes flow shops only"),
    ):
        with pytest.raises(EngineUnavailable, match=f"engine '{name}'.*{reason}"):
            registry.choose_engine(name, PROBLEM, TreeOptions())
    engine, reason = registry.choose_engine("reference", PROBLEM, TreeOptions())
    assert (engine.name, reason) == ("reference", "reference (asked for)")


def test_options_that_no_engine_takes_are_an_error(install):
    install(gpu=fake("gpu", supports="no"), cpu=fake("cpu", supports="no"))
    tree = TreeOptions(BranchingRule.MINBRANCH)
    with pytest.raises(EngineUnavailable, match="no reference: minbranch needs"):
        registry.choose_engine("auto", PROBLEM, tree)


def test_environment_puts_other_classes_in_the_place_of_engines(monkeypatch):
    path = "dpbb.engines.reference:ReferenceEngine"
    monkeypatch.setenv(registry.REPLACEMENTS, f"gpu={path}, cpu={path}")
    assert registry.is_replaced("gpu")
    assert not registry.is_replaced("reference")
    assert registry.get_engine("gpu").name == "reference"
