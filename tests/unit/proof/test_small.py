"""Certificates of benchmark instances without times, which their files have."""

import copy
import json
import sys

import pytest

import dpbb
from dpbb.flowshop.best_known import best_known
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate
from dpbb.proof.verify import verify


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Content of the certificate of ta001's optimum, which is proved at once."""
    path = tmp_path_factory.mktemp("small") / "ta001.json.gz"
    how = {"engine": "reference", "verbosity": "quiet", "workers": 0}
    dpbb.solve("ta001", cutoff=1278, certificate=str(path), **how)
    return Certificate.read(path).content


@pytest.fixture
def small(whole):
    content = copy.deepcopy(whole)
    del content["instance"]["times"]
    return content


def vrf_text(times):
    """Text of a file as VRF has them."""
    rows = [" ".join(f"{m} {t}" for m, t in enumerate(row)) for row in times]
    return "\n".join([f"{len(times)} {len(times[0])}", *rows])


@pytest.fixture
def program(tmp_path, monkeypatch, capsys):
    """Run the program of one file; returns its exit code and what it says."""

    def run(content, times=None, write=vrf_text):
        paths = tmp_path / "certificate.json", tmp_path / "instance.txt"
        paths[0].write_text(json.dumps(content))
        arguments = ["checker.py", str(paths[0]), "--seed", "1"]
        if times is not None:
            paths[1].write_text(write(times))
            arguments += ["--instance", str(paths[1])]
        monkeypatch.setattr(sys, "argv", arguments)
        code = checker.main()
        return code, capsys.readouterr().out

    return run


def test_a_benchmark_is_found_by_its_name(small, whole):
    found = verify(Certificate(small), engine="cpu", seed=1)
    assert found.verdict == checker.PROVED
    assert found.checks[:3] == verify(Certificate(whole), engine="cpu").checks[:3]


@pytest.mark.parametrize("missing", ["", None])
def test_whoever_has_no_times_cannot_check_it(small, program, missing, monkeypatch):
    small["instance"]["name"] = missing
    found = verify(Certificate(small), engine="cpu")
    assert found.verdict == checker.TOO_LITTLE
    code, said = program(small)
    assert code == checker.EXIT[checker.TOO_LITTLE]
    for text in (found.summary(), said):
        assert "leaves out the processing times" in text
    monkeypatch.delenv("DPBB_DATA", raising=False)
    small["instance"]["name"] = "VFR30_20_1"
    text = verify(Certificate(small), engine="cpu").summary()
    assert "it leaves out the times" in text
    assert "DPBB_DATA" in text


def test_it_holds_with_the_file_of_its_instance_alone(small, whole, program):
    times = whole["instance"]["times"]
    plain = lambda rows: " ".join(map(str, sum(rows, [len(rows), len(rows[0])])))  # noqa: E731
    for content in (small, whole):
        for write in (vrf_text, plain):
            assert program(content, times, write)[0] == 0
        other = [row[::-1] for row in times]
        assert program(content, other)[0] == 1
        assert verify(Certificate(content), instance=times, engine="cpu").ok
        assert not verify(Certificate(content), instance=other, engine="cpu").ok


@pytest.mark.parametrize(
    "text", ["", "2 2", "2 2 1 2 3", "1 2 -3 4", "1 1 x", "0 0", "-1 -1 5", "9999 9 1"]
)
def test_a_file_that_is_no_instance_is_refused(small, program, text, capsys):
    with pytest.raises(SystemExit):
        program(small, text, str)
    assert "expected jobs, machines, times, got: " in capsys.readouterr().err


def test_a_damaged_file_of_a_benchmark_refutes_nothing(small, whole, tmp_path):
    """It is not the certificate that is wrong."""
    known = best_known("VFR10_5_1")
    small["instance"] |= {"name": known.name}
    rows = whole["instance"]["times"][:10]
    (tmp_path / "VFR10_5_1_Gap.txt").write_text(vrf_text(rows))
    found = verify(Certificate(small), engine="cpu", data_dir=tmp_path)
    assert found.verdict == checker.TOO_LITTLE
    assert "the file of VFR10_5_1 has others" in found.summary()


def test_a_smaller_certificate_is_written(whole, tmp_path):
    from docs.shrink_certificates import shrink

    path = tmp_path / "one.json.gz"
    Certificate(whole).write(path)
    shrink(path)
    assert "times" not in Certificate.read(path).content["instance"]
    assert verify(path, engine="cpu").ok
