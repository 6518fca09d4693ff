"""What is outside of a model's language is refused, with the line and another way."""

import ast
import re
from importlib import import_module

import numpy as np
import pytest

import dpbb
from dpbb.modeling.text import FUNCTIONS
from dpbb.testing import check_model

OUTSIDE = {
    "while node.t:\n            pass": "an assignment, for, if or a return",
    "node.t = node.t / 2": r"\+, - or \*",
    "node.t = abs(node.t)": "min or max of two values",
    "node.t = 0.5": "a whole number",
    "node.t = node.t + LIMIT": r"variable of take or self\.LIMIT.*, got LIMIT",
    "node.t = self.a[1:2]": "one index in each pair",
    "a = b = 1": "one target",
    "node.t = 1 if 0 < job < 3 else 2": "one comparison",
    "for job in self.jobs():\n            pass": "to go over",
    "for place, job in self.jobs:\n            pass": r"enumerate\(self.ORDER\)",
    "for place, job in enumerate(node.left):\n            pass": "to go over",
    "if job:\n            return": "one return, at the end",
    "node.t = max(*self.a)": "min or max of two values",
    "node.t = [1]": "whole numbers, tables, fields",
    "self.t = 1": "a variable or a field of the node",
    "job = 1": "a variable of another name",
    "node.t = node.left": "x in node.left",
    "if job: x = 1\n        node.t = x": "x to have a value whatever.*, got x",
    "for k in range(2):\n            pass\n        node.t = k": "ends with it.*, got k",
    "for k in node.left:\n            x = 1\n        node.t = x": "a loop does.* x",
    "for k in range(len(node.left)):\n            x = 1\n        node.t = x": "a loop",
    "for k in range(2):\n            k = 1": "a variable of another name",
    "for k in range(2):\n            pass\n        k = 1": "a variable of another name",
    "for k in range(2):\n            for k in range(k): pass": "no loop around",
    "for k in range(2): pass\n        for k in node.left: pass": "a job in all loops",
    "x, y = 1, 2": "write two lines",
    "x: int = 1": "NAME = VALUE",
}


@pytest.mark.parametrize("line", OUTSIDE)
def test_what_is_outside_is_refused_with_its_line(line, tmp_path):
    text = (
        "import dpbb\n\n\nclass Mine(dpbb.Model):\n"
        "    def take(self, node, job):\n"
        f"        {line}\n"
    )
    path = tmp_path / "mine.py"
    path.write_text(text)
    code = compile(text, str(path), "exec")
    with pytest.raises(dpbb.ModelError, match=OUTSIDE[line]) as caught:
        exec(code, {"__name__": "mine"})  # noqa: S102
    assert re.search(r"mine\.py:[678]: in take", str(caught.value))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_parameters_are_refused(name):
    def function(self, node, time):
        return 0

    with pytest.raises(dpbb.ModelError, match=r"the parameters \(self, "):
        type("Mine", (dpbb.Model,), {name: function})


def test_bounds_may_not_change_a_node():
    with pytest.raises(dpbb.ModelError, match="only take changes a node"):

        class Mine(dpbb.Model):
            def node_bound(self, node):
                node.t = 1
                return node.t


class Small(dpbb.Model):
    n_jobs = 2
    trivial_ub = 100
    state = {"time": None}  # noqa: RUF012

    def take(self, node, job):
        node.time += self.times[job]

    def node_bound(self, node):
        return node.time


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, "self.times to be made in __init__"),
        ({"times": [1.5, 2]}, "a table of whole numbers with 1 axes"),
        ({"times": [[1], [2]]}, "a table of whole numbers with 1 axes"),
        ({"times": [1, 2, 3]}, "an axis 0 of 2 jobs, got a length of 3"),
        ({"times": [[1], [2, 3]]}, "rows of the same length in self.times"),
        ({"times": [1, 2**63 - 1]}, "numbers below 2**62 in self.times"),
        ({"times": [1, 2], "state": ["time"]}, "fields by name"),
        ({"times": [1, 2], "shared": {"time": None}}, "each name once"),
        ({"times": [1, 2], "n_jobs": 0}, "a whole number from 1 on"),
    ],
)
def test_data_that_the_text_cannot_use_are_refused(data, expected):
    problem = Small()
    vars(problem).update(data)
    with pytest.raises(dpbb.ModelError, match=re.escape(expected)):
        _ = problem.shape


def test_fields_that_are_not_declared_are_refused():
    class Other(Small):
        state = {"end": None}  # noqa: RUF012

    problem = Other()
    problem.times = [1, 2]
    with pytest.raises(dpbb.ModelError, match=r"one of the node's fields \(end\)"):
        _ = problem.shape


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("sums", {"rest": "none"}, r"self\.none to be made in __init__, got none"),
        ("state", {"time": "lenght"}, r"time as self\.lenght, got no such attribute"),
        ("trivial_ub", None, "a whole number from 0 on, made in __init__, got None"),
        ("sides", ("front", "back"), "a method mirrored beside two sides, got none"),
    ],
)
def test_what_a_class_says_is_refused_with_its_line(name, value, expected, tmp_path):
    text = f"""
from tests.unit.modeling.test_text import Small


class Mine(Small):
    {name} = {value!r}
"""
    (tmp_path / f"mine_{name}.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        mine = import_module(f"mine_{name}").Mine()
    mine.times = [1, 2]
    with pytest.raises(dpbb.ModelError, match=rf"{name}\.py:6: {name} .*{expected}"):
        mine.evaluate([0, 1])


def test_the_digest_is_of_what_is_done():
    class Same(dpbb.Model):
        def take(self, node, job):
            """Said otherwise."""
            node.time += self.times[job]  # and elsewhere

        def node_bound(self, node):
            return node.time

    class Different(Small):
        def node_bound(self, node):
            return node.time + 1

    assert Same.text.digest == Small.text.digest
    assert Different.text.digest != Small.text.digest


def test_sums_are_kept_for_a_model_and_not_by_it():
    class Other(Small):
        state = {}  # noqa: RUF012
        sums = {"time": "times"}  # noqa: RUF012

    problem = Other()
    problem.times = [1, 2]
    with pytest.raises(dpbb.ModelError, match="a field of state or shared to change"):
        _ = problem.shape


class Switched(dpbb.Model):
    n_jobs = 3
    trivial_ub = 100
    state = {"time": None}  # noqa: RUF012

    def __init__(self, weighted):
        self.times, self.weighted, self.plain = np.arange(3), weighted, 1 - weighted
        if weighted:  # without, the table is not even there
            self.weights = np.array([3, 1, 2])

    def part(self, job):
        return self.weights[job] * self.times[job] if self.weighted else self.times[job]

    def twice(self, value, job):
        return value + self.part(job)

    def take(self, node, job):
        if self.weighted and not self.plain:
            node.time = self.twice(node.time, job)
        else:
            node.time += 1

    def node_bound(self, node):
        return node.time


@pytest.mark.slow
@pytest.mark.parametrize(("weighted", "cost"), [(1, 5), (0, 3)])
def test_switches_leave_out_what_is_not_done_and_helpers_are_written_in_place(
    weighted, cost
):
    problem = Switched(weighted)
    assert problem.evaluate([2, 0, 1]) == cost
    assert set(problem.shape.tables) == ({"times", "weights"} if weighted else set())
    assert check_model(problem, nodes=8, engines=("cpu",)).engines["cpu"] == "the same"


def test_helpers_are_those_of_the_own_class():
    class Other(Switched):
        def part(self, job):
            return 7

    one, other = Switched(1), Other(1)
    assert other.shape.digest != one.shape.digest
    assert "7" in ast.dump(other.text.sources["take"].tree)


@pytest.mark.parametrize(
    ("helper", "expected"),
    [
        ("def again(self, job):\n        return self.again(job)", "calls itself"),
        ("again = lambda self, job: job", "written with def"),
        ("def again(self, job):\n        job += 1\n        return job", "one return"),
        ("def again(self, job):\n        return job + LIMIT", "self, got LIMIT"),
        (
            "def again(self, job):\n        return self.more(job)\n\n"
            "    def more(self, job):\n        return self.again(job)",
            "in more: expected no function that calls itself, got again",
        ),
    ],
)
def test_helpers_that_engines_cannot_write_in_place_are_refused(
    helper, expected, tmp_path, monkeypatch
):
    name = f"helpers_{sum(map(ord, helper))}"
    text = (
        "from tests.unit.modeling.test_text import Small\n\n\n"
        f"class Mine(Small):\n    {helper}\n\n"
        "    def take(self, node, job):\n        node.time += self.again(job)\n"
    )
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(dpbb.ModelError, match=expected):
        import_module(name)
