"""The cache of compiled code: kept, damaged, impossible."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import time
from threading import Thread

import numba
import pytest
from numba.core.caching import FunctionCache

from dpbb.kernels import compile_process, compiling
from dpbb.kernels.compile_process import compile_elsewhere
from dpbb.kernels.compiling import compiled, entry
from tests.processes import run


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Compile a function of a module as a new process would; the cache is beside it."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    source = tmp_path / "module.py"
    source.write_text("def add(a, b):\n    return a + b\n")

    def fresh(how=compiled):
        spec = importlib.util.spec_from_file_location("module", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return how(module.add)

    return fresh


def hits(function):
    return sum(function.stats.cache_hits.values())


def test_code_is_compiled_once(load):
    first, second = load(), load()
    assert (first(1, 2), hits(first)) == (3, 0)
    assert (second(1, 2), hits(second)) == (3, 1)


@pytest.mark.parametrize(
    ("suffix", "content"), [("nbi", b""), ("nbc", b""), ("nbc", b"\x80\x04\x95")]
)
def test_damaged_cache_is_made_anew(load, tmp_path, caplog, suffix, content):
    """As a full disk or a loss of power leaves it."""
    assert load()(1, 2) == 3
    (file,) = tmp_path.rglob(f"*.{suffix}")
    file.write_bytes(content)
    damaged = load()
    with caplog.at_level(logging.WARNING, "dpbb"):
        assert (damaged(1, 2), hits(damaged)) == (3, 0)
    assert "damaged cache of add: compiled again" in caplog.text
    healed = load()
    assert (healed(1, 2), hits(healed)) == (3, 1)


def test_damaged_index_of_an_entry_is_made_anew(load, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(compiling, "compile_elsewhere", lambda *how: asked.append(how))
    assert load(entry)(1, 2) == 3
    assert load(entry)(1, 2) == 3
    assert len(asked) == 1  # the second time it is in the cache
    (index,) = tmp_path.rglob("*.nbi")
    index.write_bytes(b"no pickle")
    assert load(entry)(1, 2) == 3
    assert len(asked) == 2
    assert load(entry)(1, 2) == 3
    assert len(asked) == 2


def test_without_a_folder_to_write_to_nothing_is_kept(load, monkeypatch):
    """Numba raises then; its locators look at every folder that they know."""
    monkeypatch.setattr(FunctionCache._impl_class, "_locator_classes", [])
    function = load()
    assert function(1, 2) == 3
    again = load()
    assert (again(1, 2), hits(again)) == (3, 0)


MODEL = """
from __future__ import annotations
from typing import NamedTuple
from dpbb.kernels.pointers import Ints

class Toy(NamedTuple):
    weights: Ints

    def cost(self, jobs, first, scratch):
        return self.weights[jobs[first]] * 1
"""

SEARCH = """
import numpy as np
from dpbb.kernels import compiling, models
from dpbb.kernels.pointers import addresses, pointer_of, pointers
from toys.model import Toy

dispatchers = []
plain = compiling.compiled
def noted(*how, **options):
    dispatchers.append(plain(*how, **options))
    return dispatchers[-1]
compiling.compiled = noted

@compiling.entry
def cost_of(model_in, jobs):
    model = pointers(model_in, np.int16(0))
    at = pointer_of(jobs)
    return models.cost(model, at, 0, at)

toy = Toy(np.array([3, 5]))
found = cost_of(addresses(toy), np.array([1, 0]))
(dispatcher,) = dispatchers
print(found, sum(dispatcher.stats.cache_hits.values()))
"""


def test_a_change_of_a_model_compiles_what_is_made_of_it_anew(tmp_path):
    """Numba itself looks at the file of the function that Python calls alone."""
    (tmp_path / "toys").mkdir()
    model = tmp_path / "toys" / "model.py"
    (tmp_path / "search").mkdir()
    search = tmp_path / "search" / "search.py"
    search.write_text(SEARCH)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {
        **os.environ,
        "PYTHONPATH": path,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",  # it takes a change within a second for none
    }

    for text, said in (
        (MODEL, "5 0"), (MODEL, "5 1"), (MODEL.replace("* 1", "* 7"), "35 0"),
    ):  # fmt: skip
        model.write_text(text)
        assert run(sys.executable, search, env=environment).stdout == f"{said}\n"


LONG_COMPILATION = """
import threading, time
from numba.core.compiler_lock import global_compiler_lock
import numpy as np
from dpbb.flowshop import FlowShopInstance, FlowShopProblem
from dpbb.heuristics import Search, improve
from dpbb.modeling.cpu import model_of
from dpbb.modeling.greedy import iterate, load

shop = FlowShopInstance("some", np.ones((4, 2), int))
search = Search(FlowShopProblem(shop), 0)
start = improve(search, None, range(4), "given")
thread = threading.Thread(target=load, args=(search, start))
thread.start()
longest = 0.0
while thread.is_alive():
    begin = time.monotonic()
    with global_compiler_lock:
        longest = max(longest, time.monotonic() - begin)
    thread.join(0.01)
kernel = iterate.compiled_for(model_of(search.problem))
print(longest, sum(kernel.stats.cache_misses.values()))
"""


def test_a_kernel_is_compiled_by_another_process(tmp_path):
    """Else whoever calls any kernel for the first time would wait for its end."""
    environ = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", LONG_COMPILATION]
    longest, misses = run(*command, env=environ).stdout.split()
    assert (float(longest) < 3.0, misses) == (True, "0")


SLOWLY_COMPILED = """
import time
from numba.extending import overload
from dpbb.kernels.compiling import entry

def same(a): ...

@overload(same)
def compiled_same(a):
    with open({!r}, "a") as file:
        file.write("once ")
    time.sleep(1)
    return lambda a: a

@entry
def slow(a):
    return same(a)
"""

ENDS = """
import os, threading, time
from pathlib import Path
import numba
from dpbb.kernels.compile_process import compile_elsewhere
asked = ("slowly_compiled", "slow", None, (numba.int64,))
threading.Thread(target=compile_elsewhere, args=asked, daemon=True).start()
while not Path("compiled").exists():
    time.sleep(0.01)
"""


def test_what_was_begun_is_in_the_cache_though_nobody_waits_for_it(tmp_path):
    """Else what a short time limit cuts off would be compiled anew by every run."""
    told, folder = tmp_path / "compiled", tmp_path / "cache"
    (tmp_path / "slowly_compiled.py").write_text(SLOWLY_COMPILED.format(str(told)))
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environ = {**os.environ, "NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": paths}
    run(sys.executable, "-c", ENDS, cwd=tmp_path, env=environ)
    limit = time.monotonic() + 60
    while not list(folder.rglob("*.nbc")):
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert told.read_text().split() == ["once"]


def test_two_processes_compile_a_kernel_once(tmp_path, monkeypatch):
    """The other one waits, and loads it: seconds of a core, and no index is lost."""
    told = tmp_path / "compiled"
    (tmp_path / "slowly_compiled.py").write_text(SLOWLY_COMPILED.format(str(told)))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(compile_process, "_idle", [])
    asked = ("slowly_compiled", "slow", None, (numba.int64,))
    threads = [Thread(target=compile_elsewhere, args=asked) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compile_process._end_all()
    assert told.read_text().split() == ["once"]
