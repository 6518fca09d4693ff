import csv
import io
import json
import os
import pickle

import numpy as np
import pandas as pd
import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.taillard import taillard_instance
from dpbb.text.labels import Names

JOBS = [[1, 2, 3], [4, 5, 6]]
"""Two jobs on three machines."""

PLAIN = "2 3\n1 4\n2 5\n3 6\n"
HEADED = (
    "number of jobs, number of machines, initial seed, upper bound and lower bound :\n"
    "  2  3  12345  20  10\n"
    "processing times :\n"
    " 1 4\n 2 5\n 3 6\n"
)
PAIRS = "2 3\r\n0 1 1 2 2 3\r\n0 4 1 5 2 6\r\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.txt", PLAIN),
        ("plain", "\n\n 2\t3 \n1 4\n\n2 5\n3 6"),
        ("headed.fsp", HEADED),
        ("headed.txt", "\ufeff" + HEADED),
        ("pairs.TXT", PAIRS),
        ("commas.csv", "1,2,3\n4,5,6\n"),
        ("semicolons.csv", "1;2;3\r\n\r\n4;5;6"),
        ("tabs.tsv", "1\t2\t3\n4\t5\t6\n"),
        ("header.csv", "m1,m2,m3\n1,2,3\n4,5.0,6\n"),
        ("names.csv", "job,cut,drill,paint\nA,1,2,3\nB,4,5,6\n"),
        ("names.csv", "A, 1, 2, 3\nB, 4, 5, 6\n"),
        ("excel.csv", "sep=;\r\nJob;a;b;c\r\nA;1,0;2;3\r\nB;4;5;6,00\r\n"),
        ("utf16.csv", "job,cut,drill,paint\nÄ,1,2,3\nB,4,5,6\n".encode("utf-16")),
        ("latin.csv", "job,cut,drill,paint\nÄ,1,2,3\nB,4,5,6\n".encode("latin-1")),
        ("numbered.csv", "Job,a,b,c\n1,1,2,3\n2,4,5,6\n"),
        ("pandas.csv", ",0,1,2\n0,1,2,3\n1,4,5,6\n"),
        ("quoted.csv", '"job ""x""","a,b",c,d\n"x,y",1,2,3\nz,"4",5,6\n'),
        ("bare.json", "[[1, 2, 3], [4, 5, 6.0]]"),
        ("object.json", '{"times": [[1, 2, 3], [4, 5, 6]], "more": null}'),
    ],
)
def test_every_form_gives_the_same_instance(write, name, content):
    path = write(name, content)
    instance = read_instance(path)
    assert instance.times.tolist() == JOBS
    assert instance.name == path.stem
    assert read_instance(str(path)) == instance


def test_numpy_file_and_name_in_json(write, tmp_path):
    np.save(tmp_path / "a.npy", np.array(JOBS, np.uint16))
    assert read_instance(tmp_path / "a.npy").times.tolist() == JOBS
    path = write("a.json", json.dumps({"name": "shop", "times": JOBS}))
    assert read_instance(path).name == "shop"


NAMED = "job,cut,drill,paint\npanel,1,2,3\ndoor,4,5,6\n"
NAMES = Names(("panel", "door"), ("cut", "drill", "paint"))


def test_names_of_jobs_and_machines_are_kept(write):
    frame = pd.read_csv(io.StringIO(NAMED))
    shop = read_instance(write("named.csv", NAMED))
    assert shop.names == NAMES
    assert read_instance(frame) == shop
    assert read_instance(frame).names == NAMES
    assert read_instance(frame.set_index("job")).names == NAMES
    assert read_instance(frame[["cut", "job", "drill", "paint"]]).names == NAMES
    named = {"times": JOBS, "jobs": NAMES.jobs, "machines": NAMES.machines}
    assert read_instance(write("named.json", json.dumps(named))).names == NAMES
    turned = read_instance(write("named.csv", NAMED), orientation="machines_rows")
    assert turned.names == Names(NAMES.machines, NAMES.jobs)
    assert pickle.loads(pickle.dumps(shop)).names == NAMES  # noqa: S301


def test_workbook_is_read_by_its_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in csv.reader(io.StringIO(NAMED)):
        book.active.append([int(cell) if cell.isdecimal() else cell for cell in row])
    book.create_sheet("empty")
    book.save(tmp_path / "shop.xlsx")
    shop = read_instance(tmp_path / "shop.xlsx")
    assert (shop.times.tolist(), shop.names) == (JOBS, NAMES)
    book.create_sheet("other").append([7, 8])
    book.save(tmp_path / "shop.xlsx")
    assert read_instance(tmp_path / "shop.xlsx", index=1).times.tolist() == [[7, 8]]
    with pytest.raises(InstanceError, match="got 2 instances"):
        read_instance(tmp_path / "shop.xlsx")
    book.create_sheet("notes").append([7, "pm", "ask Ms Li"])
    book.save(tmp_path / "shop.xlsx")
    assert read_instance(tmp_path / "shop.xlsx", index=0).times.tolist() == JOBS
    assert read_instance(f"{tmp_path}/shop.xlsx[1]").times.tolist() == [[7, 8]]
    with pytest.raises(InstanceError, match="sheet 'notes'"):
        read_instance(tmp_path / "shop.xlsx", index=2)


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append([1, 2])
    book.active.cell(90_000, 300, 3)
    path = tmp_path / "shop.xlsx"
    book.save(path)
    monkeypatch.setattr("dpbb.flowshop.table_formats.MOST_CELLS", 200)
    with pytest.raises(InstanceError, match="200 cells"):
        read_instance(path)
    monkeypatch.setattr("dpbb.flowshop.table_formats.MOST_BYTES", 10_000)
    with pytest.raises(InstanceError, match="10,000 bytes"):
        read_instance(path)


@pytest.mark.parametrize("content", [NAMED, PLAIN, str(JOBS)])
def test_standard_input_is_read_as_what_it_looks_like(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert read_instance("-").times.tolist() == JOBS


@pytest.mark.parametrize(
    "source",
    [
        JOBS, tuple(map(tuple, JOBS)), np.array(JOBS, float),
        pd.DataFrame(JOBS, index=["A", "B"], columns=list("xyz")),
    ],
)  # fmt: skip
def test_tables_have_jobs_as_rows_unless_told_otherwise(source):
    assert read_instance(source).times.tolist() == JOBS
    turned = read_instance(source, orientation="machines_rows")
    assert turned.times.tolist() == [[1, 4], [2, 5], [3, 6]]


def test_names_and_instances():
    assert (
        read_instance("ta022") == read_instance(" TA22 ") == taillard_instance("ta22")
    )
    instance = FlowShopInstance("x", JOBS)
    assert read_instance(instance) is instance


def test_file_called_like_an_instance_is_read_by_its_path(write, monkeypatch):
    monkeypatch.chdir(write("ta001", PLAIN).parent)
    assert read_instance("ta001").n_jobs == 20
    assert read_instance("./ta001").n_jobs == 2


def test_orientation_of_files(write):
    turned = [[1, 4], [2, 5], [3, 6]]
    for name, text in (("a.csv", "1,2,3\n4,5,6"), ("a.json", str(JOBS))):
        path = write(name, text)
        assert read_instance(path, orientation="machines_rows").times.tolist() == turned
        assert read_instance(path, orientation="jobs_rows").times.tolist() == JOBS
    rows = write("rows.txt", "2 3\n1 2 3\n4 5 6\n")
    assert read_instance(rows, orientation="jobs_rows").times.tolist() == JOBS
    plain = write("plain.txt", PLAIN)
    assert read_instance(plain, orientation="machines_rows").times.tolist() == JOBS


def test_pairs_are_told_from_rows_of_the_same_length(write):
    """With n = 2 m a row of either form has n values."""
    pairs = write("pairs.txt", "4 2\n0 1 1 2\n0 3 1 4\n0 5 1 6\n0 7 1 8\n")
    expected = [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert read_instance(pairs).times.tolist() == expected
    plain = write("plain.txt", "4 2\n1 3 5 7\n2 4 6 8\n")
    assert read_instance(plain).times.tolist() == expected


def test_one_of_several_instances_is_chosen_by_index(write):
    text = HEADED + HEADED.replace("3 6", "3 9") + "\n" + PLAIN.replace("1 4", "7 4")
    path = write("several.txt", text)
    values = [read_instance(path, index=i).times.sum() for i in range(3)]
    assert values == [21, 24, 27]
    assert read_instance(path, index=1).name == "several[1]"
    path = write("pairs.txt", PAIRS + PAIRS)
    assert read_instance(path, index=1).times.tolist() == JOBS
    path = write("several.json", json.dumps([{"times": [[1]]}, {"times": JOBS}]))
    assert read_instance(path, index=1).times.tolist() == JOBS
    assert read_instance(write("one.txt", PLAIN), index=0).times.tolist() == JOBS


BAD_FILES = [
    # text: size and headings
    ("e.txt", "", "e.txt: expected a flow shop instance, got an empty file"),
    ("s.txt", "20\n", "line 1: expected 'n_jobs n_machines', got '20'"),
    ("s.txt", "1 2 3\n4 5 6\n", "line 1: .* got '1 2 3'; a table .* read as .csv"),
    ("s.txt", "2 999999999\n", "line 1, column 3: .* from 1 to 100,000, got 999999999"),
    ("h.txt", "a heading\nand more\n2 3\n", "line 2: .* got a second heading"),
    ("h.txt", "a heading\n", "after line 1: expected 'n_jobs n_machines' .* the end"),
    ("h.txt", PLAIN.replace("2 5", "oops 2 5"), "line 3: .* got a heading 'oops 2 5'"),
    # text: rows
    ("r.txt", PLAIN[:-4], "after line 3: expected row 3 of 3 .* got the end"),
    ("r.txt", PLAIN.replace("2 5", "2"), "line 3: .* row 2 of 3 with 2 values, got 1"),
    ("r.txt", PLAIN.replace("2 5", "2 ५"), "line 3, column 3: .* got '५'"),
    ("r.txt", PLAIN.replace("2 5", "2 1" + "0" * 40), "line 3, column 3: .* got '1000"),
    ("r.txt", "2 3\n1 2 3\n4 5 6\n", "line 2: .* is orientation jobs_rows"),
    # text: what follows
    ("t.txt", PLAIN + "7 8 9\n", "line 5: .* got '7 8 9' after the last row"),
    ("t.txt", PLAIN + PLAIN, "expected one instance, .* got 2 instances; index may be"),
    # pairs
    ("p.txt", PAIRS.replace("0 4", "1 4"), "line 3, column 1: .* machine 0"),
    # bytes
    ("b.txt", b"\x93NUMPY\x01\x00", "expected a text file, got a binary file"),
    ("b.xlsx", b"PK", "expected an Excel workbook, got an error"),
    # CSV
    ("c.csv", "", "c.csv: expected a table of processing times, got an empty file"),
    ("c.csv", "a,b\n", "expected rows of processing times, got only a header"),
    ("c.csv", "a,b,a\n1,2,3\n", "line 1: expected different column names"),
    ("c.csv", "job,a\nx,1\nx,2\n", "names in the first column, got 'x' twice"),
    ("c.csv", "1,2\n3\n", "line 2: expected 2 cells as in line 1, got 1"),
    ("c.csv", "1,2\n3,x\n", "line 2, cell 2: expected a whole number >= 0, got 'x'"),
    ("c.csv", "1,x,3\n4,5,6\n", "line 1: expected a header .* got a mixture"),
    ("c.csv", "0,1,2\n5,6,7\n", "line 1: .* got 0, 1, 2, ..., which may be either"),
    ("c.csv", "a,b;3\n", "line 1: expected one kind of separator .* got ';' and ','"),
    ("c.csv", "job;m\na;1.000\n", "line 2: .* without separators of thousands"),
    ("c.csv", "1,5;3\n", "line 1, cell 1: expected a whole number >= 0, got '1.5'"),
    ("c.csv", "1,9000000000000000000\n", "cell 2: expected a time below 10..18"),
    ("c.csv", "1,2\n2,5\n3,4\n4,1\n5,9\n", "first column of 1, 2, 3, ..., which may"),
    ("j.json", '{"times": [[1], [2]], "jobs": ["a"]}', "expected 2 job names, got 1"),
    ("j.json", '{"times": [[1]], "machines": ["\\u001b"]}', "can be printed"),
    ("c.csv", '1,"2\n3,4\n', "expected CSV, got an error"),
    ("c.csv", "job,cut,weld\nA,1,2\nSumme,1,2\n", "line 3, cell 1: .*Summe"),
    # JSON
    ("j.json", "", "j.json: expected JSON, got an empty file"),
    ("j.json", "[[1, 2],\n[3, x]]", "j.json, line 2, column 5: expected JSON"),
    ("j.json", "[[1, NaN]]", "expected whole numbers >= 0, got NaN"),
    ("j.json", '{"time": [[1]]}', "expected the key 'times', got the keys 'time'"),
    ("j.json", '{"times": [[1]], "times": [[2]]}', "different keys, got 'times' twice"),
    ("j.json", '{"times": [[1]], "name": 5}', "expected a text as 'name', got 5"),
    ("j.json", '{"times": [[1]], "setups": [[0]]}', "'setups'; options say what else"),
    ("j.json", '{"times": [[1]], "due_date": [5]}', "release, due, .* got 'due_date'"),
    ("j.json", '[{"times": [[1]]}, {"times": [[1]]}]', "got 2 instances; index"),
    ("j.json", "[[1, 2], [3]]", "j.json, row 1: expected 2 processing times .* got 1"),
    ("j.json", '[[1, "2"]]', "j.json, row 0, column 1: .* got '2'"),
    ("j.json", "[" * 100_000, "j.json.* expected JSON"),
    ("n.npy", b"", "n.npy: expected a NumPy array file of numbers, got an error"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES)
def test_bad_file_is_refused_with_file_expected_and_got(write, name, content, message):
    path = write(name, content)
    with pytest.raises(InstanceError, match=message) as caught:
        read_instance(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(2, 3)", b"(2, 3]"),
        (b"(2, 3)", b"({}, 3"),
        (b"(2, 3), }" + b" " * 18, b"(1000000000, 1000000000), }"),
        (b"'<i8'", b"'|O8'"),
    ],
)
def test_npy_with_a_damaged_header_is_refused(tmp_path, old, new):
    """Whatever NumPy's reader makes of it, memory for 8 exabytes included."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6, dtype="<i8").reshape(2, 3))
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    with pytest.raises(InstanceError, match=r"a.npy: expected .* of numbers, got an e"):
        read_instance(path)


def test_npy_of_objects_or_other_shapes_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([[1, None]]), allow_pickle=True)
    with pytest.raises(InstanceError, match="a NumPy array file of numbers"):
        read_instance(path)
    np.save(path, np.array([1, 2]))
    with pytest.raises(InstanceError, match=r"a.npy: .* got 1 dimension\(s\)"):
        read_instance(path)
    np.save(path, np.array([[1, np.nan]]))
    with pytest.raises(InstanceError, match=r"a.npy, row 0, column 1: .* got nan"):
        read_instance(path)


def test_what_is_no_regular_file_is_refused(tmp_path):
    with pytest.raises(InstanceError, match="expected a file, got a folder"):
        read_instance(tmp_path)
    with pytest.raises(InstanceError, match=r"none.txt: .* got no such file"):
        read_instance(tmp_path / "none.txt")
    with pytest.raises(InstanceError, match="ta1x: expected ta001 to ta120, VFR"):
        read_instance("ta1x")
    with pytest.raises(InstanceError, match="expected ta001 to ta120, got 'ta121'"):
        read_instance("ta121")
    with pytest.raises(InstanceError, match="expected a readable file, got an error"):
        read_instance("x" * 5000)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InstanceError, match=r"readable file, got .* a pipe or device"):
        read_instance(tmp_path / "pipe.txt")


def test_index_out_of_place_or_range_is_refused(write):
    path = write("a.txt", PLAIN + PLAIN)
    with pytest.raises(InstanceError, match="expected an index from 0 to 1, got 2"):
        read_instance(path, index=2)
    with pytest.raises(InstanceError, match="expected an index from 0 to 1, got -1"):
        read_instance(path, index=-1)
    with pytest.raises(InstanceError, match="index: expected a whole number from 0"):
        read_instance(path, index=1.5)
    with pytest.raises(InstanceError, match=r"index: expected a file .* got a list"):
        read_instance(JOBS, index=0)
    with pytest.raises(InstanceError, match=r"index: expected .* got the name 'ta001'"):
        read_instance("ta001", index=0)


@pytest.mark.data
def test_other_benchmarks_are_read(shared):
    """Carlier, Heller and Reeves: sizes, and values of the first and the last line."""
    folder = shared / "data/pfsp_other"
    files = sorted(folder.glob("*/*.txt"))
    assert len(files) == 31
    for file in files:
        instance = read_instance(file)
        lines = file.read_text().split("\n")
        size = tuple(int(token) for token in lines[0].split())
        assert instance.times.shape == size
        assert instance.times[0].tolist() == [int(x) for x in lines[1].split()[1::2]]
