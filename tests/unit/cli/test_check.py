"""``dpbb check`` finds a model by its path and says what held, or what does not."""

from functools import partial

import pytest

import dpbb.testing
from dpbb.cli import main
from tests import models


@pytest.fixture(autouse=True)
def _without_engines(monkeypatch):
    monkeypatch.chdir(models.EXAMPLE.parent)
    check = partial(dpbb.testing.check_model, engines=())
    monkeypatch.setattr(dpbb.testing, "check_model", check)


def test_a_right_model_is_told_so(capsys):
    assert main(["check", "12_own_model:small_tardiness", "--nodes", "30"]) == 0
    assert "all hold" in capsys.readouterr().out


def test_a_wrong_one_is_told_by_its_law(tmp_path, monkeypatch, capsys):
    text = models.EXAMPLE.read_text().replace("return node.loss", "return 0")
    (tmp_path / "wrong_model.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "wrong_model:small_ordering"]) == 1
    assert "linear-ordering: law" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("12_own_model", "expected MODULE:PROBLEM"),
        ("no_such_module:problem", "No module named 'no_such_module'"),
        ("12_own_model:nothing", "expected a name of 12_own_model"),
        ("math:pi", "expected a dpbb.Model"),
    ],
)
def test_what_is_no_model_is_refused(path, expected, capsys):
    assert main(["check", path]) == 2
    assert expected in capsys.readouterr().err
