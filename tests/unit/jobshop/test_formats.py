import json

import pytest

from dpbb.errors import InstanceError
from dpbb.jobshop import load
from tests.unit.jobshop.shops import SMALL

TEXT = "3 3\n0 3 1 2 2 2\n0 2 2 1 1 4\n1 4 2 3\n"
CSV = """\
job,machine,time,release,due,weight
door,saw,3,0,20,2
door,drill,2,,,
lid,drill,4,5,9,1
lid,paint,3,,,
lid,drill,1,,,
"""


def file(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_text_is_read(tmp_path):
    assert load(file(tmp_path, "small.txt", "# a comment\n" + TEXT)) == SMALL
    assert load(file(tmp_path, "small", TEXT)).name == "small"


def test_json_keeps_names_and_dates(tmp_path):
    job = {"name": "lid", "operations": [["saw", 3], ["drill", 2]]}
    dates = {"release": 1, "due": 9, "weight": 2}
    shop = load(file(tmp_path, "x.json", json.dumps({"jobs": [{**job, **dates}]})))
    assert (shop.name, shop.job_names) == ("x", ("lid",))
    assert shop.machine_names == ("saw", "drill")
    found = [shop.release.tolist(), shop.due.tolist(), shop.weight.tolist()]
    assert found == [[1], [9], [2]]


def test_csv_keeps_names_and_dates(tmp_path):
    shop = load(file(tmp_path, "joinery.csv", CSV))
    assert shop.job_names == ("door", "lid")
    assert shop.machine_names == ("saw", "drill", "paint")
    assert shop.machines.tolist() == [0, 1, 1, 2, 1]
    assert (shop.release.tolist(), shop.due.tolist()) == ([0, 5], [20, 9])
    assert shop.operation(3) == "operation 1 of job lid (machine paint)"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_files_of_other_systems_are_read(tmp_path, end, mark):
    for name, text in (("x.csv", CSV), ("x.txt", TEXT)):
        expected = load(file(tmp_path, name, text))
        again = file(tmp_path, name, mark + text.replace("\n", end))
        assert load(again) == expected


@pytest.mark.data
def test_names_are_found_in_the_data_folder(shared, monkeypatch):
    shop = load("FT06", data_dir=shared / "data")
    assert (shop.name, shop.n_jobs, shop.lower_bound) == ("ft06", 6, 52)
    monkeypatch.setenv("DPBB_DATA", str(shared / "data" / "jobshop" / "instances"))
    assert load("ft06") == shop
    with pytest.raises(InstanceError, match=r"expected la99\.txt"):
        load("la99")


def test_names_need_a_folder(monkeypatch):
    monkeypatch.delenv("DPBB_DATA", raising=False)
    with pytest.raises(InstanceError, match="DPBB_DATA"):
        load("la01")


BAD = {
    "empty.txt": ("", "an empty file"),
    "head.txt": ("1\n0 3\n", "line 1: expected two numbers"),
    "word.txt": ("1 1\n0 x\n", "line 2: expected a whole number >= 0, got 'x'"),
    "missing.txt": ("2 1\n0 3\n", "expected 2 jobs, a line each, got 1 lines"),
    "odd.txt": ("1 2\n0 3 1\n", "line 2: expected pairs of machine and time, got 3"),
    "machine.txt": ("1 2\n0 3 2 1\n", "line 2: expected machines 0 to 1, got 2"),
    "huge.txt": ("1 1\n0 9999999999999\n", "line 2: expected at most"),
    "binary.txt": (b"1 1\n\0", "a binary file"),
    "head.csv": ("a,b\n", "a header with job, machine, time"),
    "column.csv": ("job,machine,time,colour\n", "columns job, machine"),
    "fields.csv": ("job,machine,time\na,b\n", "line 2: expected 3 fields, got 2"),
    "nobody.csv": ("job,machine,time\n,m,3\n", "line 2: expected a job and a machine"),
    "dates.csv": (
        "job,machine,time,due\na,m,1,3\na,m,1,4\n",
        "line 3: expected one due for job a, got 3 and 4",
    ),
    "quote.csv": (b'job,machine,time\n"' + b"a" * 200_000 + b'",m,1\n', "expected CSV"),
    "many.csv": ("job,machine,time\na,999999999,1\n", "machines: expected 1 to 32,767"),
    "digits.json": ('{"jobs": [[[0, %s]]]}' % ("9" * 5000), "expected JSON"),
    "deep.json": ("[" * 200_000, "expected JSON"),
    "machines.json": ('{"jobs": [[[[1], 2]]]}', "machine: expected a number or a name"),
    "broken.json": ("{", "expected JSON"),
    "job.json": ('{"jobs": [3]}', "job 0: expected a list of operations"),
    "pair.json": ('{"jobs": [[[0]]]}', r"operation 0: expected \[machine, time\]"),
    "long.json": ('{"jobs": [[[0, -1]]]}', "operation 0: time: expected"),
    "name.json": (
        '{"jobs": [{"name": "a", "operations": [[0, 1]]}, '
        '{"name": "a", "operations": [[0, 1]]}]}',
        "job 1: expected a name of its own",
    ),
    "unknown.json": (
        '{"machines": ["saw"], "jobs": [[["drill", 1]]]}',
        "one of the machines",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_their_place(tmp_path, name):
    content, message = BAD[name]
    with pytest.raises(InstanceError, match=message) as error:
        load(file(tmp_path, name, content))
    assert name in str(error.value)


@pytest.mark.parametrize("source", ["nowhere.txt", "ft06x", "", "a\0b", 7])
def test_what_is_no_instance_is_refused(source):
    with pytest.raises(InstanceError):
        load(source)


def test_a_folder_is_no_instance(tmp_path):
    with pytest.raises(InstanceError, match="or a file"):
        load(tmp_path)
