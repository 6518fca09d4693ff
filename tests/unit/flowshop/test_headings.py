import pandas as pd
import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop.formats import read_instance
from dpbb.flowshop.headings import is_label
from dpbb.flowshop.instance import FlowShopInstance

NO_TIMES = (
    "dueDates (h)", "Weight (kg)", "setup M3", "Liefertermin", "Rüstzeit", "r_j",
    "completion time", "Remarks", "machine",
)  # fmt: skip
"""Headings of columns that are no machine's."""

MACHINES = ("M1", "Machine 3", "cut", "Setup station", "Weighing", "time", "Packing")


@pytest.mark.parametrize("heading", NO_TIMES)
def test_a_column_of_something_else_is_no_machine(tmp_path, heading):
    path = tmp_path / "shop.csv"
    path.write_text(f"job,cut,{heading},weld\nA,1,2,3\nB,4,5,6\n")
    with pytest.raises(InstanceError) as refused:
        read_instance(path)
    for said in (f"{path}, line 1, cell 3: ", repr(heading), "remove"):
        assert said in str(refused.value)
    path.write_text(f"job,A,B\ncut,1,4\n{heading},2,5\nweld,3,6\n")
    with pytest.raises(InstanceError, match=r"line 3, cell 1: .* remove the row"):
        read_instance(path, orientation="machines_rows")
    frame = pd.DataFrame({"job": ["A", "B"], "cut": [1, 4], heading: [2, 5]})
    if not is_label(heading):
        with pytest.raises(InstanceError, match="data frame, columns: "):
            FlowShopInstance.from_array(frame)


@pytest.mark.parametrize("heading", MACHINES)
def test_machines_have_any_other_name(tmp_path, heading):
    path = tmp_path / "shop.csv"
    path.write_text(f"Auftrag;{heading};weld\n17;1;3\n18;4;6\n")
    shop = read_instance(path)
    assert shop.times.tolist() == [[1, 3], [4, 6]]
    assert (shop.names.machines, shop.names.jobs) == ((heading, "weld"), ("17", "18"))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("machine,J1,J2,J3\nM1,1,2,3\nM2,4,5,6\n", "line 1, cell 1: .*'machine'"),
        ("Maschine;x;y;z\na;1;2;3\nb;4;5;6\n", "line 1, cell 1: .*'Maschine'"),
        ("machine / job,x,y,z\n1,1,2,3\n2,4,5,6\n", "line 1, cell 1"),
        (",a,b,c\nmachine 1,1,2,3\nmachine 2,4,5,6\n", "line 2, cell 1"),
        ("M1,1,2,3\nM2,4,5,6\n", "line 1, cell 1: .*'M1'"),
        (",J1,J2,J3\ncut,1,2,3\nweld,4,5,6\n", "line 1, cell 2: .*'J1'"),
        ("job 1,job 2,job 3\n1,2,3\n4,5,6\n", "line 1, cell 1: .*'job 1'"),
    ],
)
def test_rows_that_are_machines_are_not_taken_for_jobs(tmp_path, text, where):
    path = tmp_path / "shop.csv"
    path.write_text(text)
    with pytest.raises(InstanceError, match=where) as refused:
        read_instance(path)
    assert "--orientation machines_rows" in str(refused.value)
    turned = read_instance(path, orientation="machines_rows")
    assert turned.times.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert read_instance(path, orientation="jobs_rows").n_jobs == 2
