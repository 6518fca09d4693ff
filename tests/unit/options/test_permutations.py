from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dpbb.errors import OptionError
from dpbb.options import SolveOptions, permutations
from dpbb.options.permutations import check_permutation
from dpbb.text.labels import Names


def parse_permutation(text, name="permutation", **how):
    """As commands do, of an instance whose jobs have no names."""
    jobs = permutations.parse_permutation(text, name, **how)
    return check_permutation(Names().numbers(jobs, name), name)


@pytest.mark.parametrize("text", ["2,0,1", "2 0 1", " 2;0\n1 ", "2, 0, 1,"])
def test_separators_are_commas_semicolons_and_spaces(text):
    assert parse_permutation(text) == (2, 0, 1)


def test_one_based_jobs_are_shifted():
    assert parse_permutation("3 1 2", one_based=True) == (2, 0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 1 2", r"expected jobs 0 to 2 .* got 3 at position 0; jobs count from 0"),
        ("0 1 1", "expected every job once, got job 1 again at position 2"),
        ("0 -1", "expected jobs 0 to 1 .* got -1"),
        ("", "expected job numbers separated by commas or spaces, or a readable file"),
        ("no/such/file", "expected .* or a readable file with them, got: No such file"),
    ],
)
def test_what_is_no_permutation_is_refused(text, message):
    with pytest.raises(OptionError, match=f"^permutation.*: {message}"):
        parse_permutation(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[0, 1", "expected JSON, got: "),
        (b'{"permutation": null}', "expected a JSON object with a"),
        (b"[" * 100_000, "expected JSON, got: "),
        (b"\xff\xfe0", "expected .* or a readable file with them, got"),
        (b"", "expected at least one job, got none"),
    ],
)
def test_bad_file_is_refused_under_its_name(tmp_path, content, message):
    file = tmp_path / "order.txt"
    file.write_bytes(content)
    with pytest.raises(OptionError, match=f"order.txt.*: {message}"):
        parse_permutation(str(file), "initial")


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([0, 1], "expected 3 jobs, got 2"),
        ([0.0, 1.0, 2.0], "expected a whole number at position 0, got 0.0"),
        ("012", "expected a sequence of jobs, got '012'"),
        (np.array(3), r"expected a sequence of jobs, got array\(3\)"),
    ],
)
def test_wrong_sequences_are_refused(jobs, message):
    with pytest.raises(OptionError, match=f"^permutation: {message}"):
        check_permutation(jobs, n_jobs=3)


NAMES = Names(("panel", "door", "2"))


@pytest.mark.parametrize(
    "text", ["panel,door,2", "panel; door ;2", "panel\ndoor\n2", '["panel", 1, "2"]']
)
def test_names_stand_for_numbers(tmp_path, text):
    (tmp_path / "order").write_text(text)
    read = [tmp_path / "order"] if "\n" in text or "[" in text else [text]
    for one in read:
        jobs = permutations.parse_permutation(str(one))
        assert NAMES.numbers(jobs, "order") == (0, 1, 2)


@pytest.mark.parametrize(
    ("jobs", "names", "message"),
    [
        (("panel", "dor"), NAMES, "order, position 1: expected .* panel, .* got 'dor'"),
        (("0", "--2"), Names(), "position 1: expected the number of a job, got '--2'"),
    ],
)
def test_a_job_that_is_not_there_is_refused(jobs, names, message):
    with pytest.raises(OptionError, match=message):
        names.numbers(jobs, "order")


@pytest.mark.parametrize(
    "jobs",
    [
        np.array(["q", "p"]), np.array(["q", "p"], dtype=object), pd.Index(["q", "p"]),
        pd.Series(["q", "p"], index=[7, 3]), pd.Series(["q", "p"], dtype="category"),
    ],
)  # fmt: skip
def test_names_may_come_in_arrays_and_series(jobs):
    options = SolveOptions(initial=jobs)
    assert options.initial == ("q", "p")
    assert {type(job) for job in options.initial} == {str}


def test_jobs_called_by_numbers_are_meant_by_their_names():
    names = Names(("2", "0", "1"))
    jobs = permutations.parse_permutation("0,1,2")
    assert names.numbers(jobs, "order") == (1, 2, 0)
    assert names.numbers((0, 1, 2), "order") == (0, 1, 2)  # from Python: numbers
    with pytest.raises(OptionError, match="expected names of jobs alone, such as '0'"):
        Names(("2a", "1", "0")).numbers(("0", "1", "2"), "order")
