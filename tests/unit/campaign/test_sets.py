import pytest

from dpbb.campaign.sets import KnownSchedule, members, read_schedules
from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop.formats import read_instance


@pytest.mark.parametrize(
    ("words", "count", "ends"),
    [
        (["ta"], 120, ("ta001", "ta120")),
        (["ta1", "TA0021", "ta001"], 2, ("ta001", "ta021")),
        (["ta:20x20"], 10, ("ta021", "ta030")),
        (["vrf"], 480, ("VFR10_5_1", "VFR800_60_10")),
        (["vrf:small"], 240, ("VFR10_5_1", "VFR60_20_10")),
        (["TA021", "vfr30_15_2_gap", "ta021"], 2, ("ta021", "VFR30_15_2")),
        (["ta021", "ta:20x20"], 10, ("ta021", "ta030")),
    ],
)
def test_sets_are_lists_of_names_by_size(words, count, ends):
    found = members(words)
    assert len(found) == len(set(found)) == count
    assert (found[0], found[-1]) == ends


def test_open_instances_are_those_of_the_table():
    assert len(members(["ta:open"])) == 12
    assert members(["open"]) == members(["ta:open", "vrf:open"])


def test_a_file_is_a_member(tmp_path):
    file = tmp_path / "shop.csv"
    file.write_text("1,2\n3,4\n")
    assert members([str(file), "ta001"]) == (str(file), "ta001")


def test_all_instances_of_a_file_are_members(tmp_path):
    file = tmp_path / "two.txt"
    file.write_text("2 1\n3 4\n2 1\n5 6\n")
    first, second = members([str(file)])
    assert read_instance(first).times.tolist() == [[3], [4]]
    assert read_instance(second).times.tolist() == [[5], [6]]
    assert read_instance(second).name == "two[1]"
    assert members([second]) == (second,)
    assert members([second, str(file)]) == (second, first)
    with pytest.raises(InstanceError, match="expected an index from 0 to 1, got 2"):
        members([f"{file}[2]"])
    with pytest.raises(OptionError, match="SET: expected names"):
        members([f"{file}.none[0]"])


def test_a_file_of_names_is_a_set(tmp_path):
    file = tmp_path / "list.txt"
    file.write_text("# mine\nta021  # of 20x20\n\nvfr30_15_2_gap\r\nta:50x5\nta1\n")
    found = members([str(file), "ta002"])
    assert found[:3] == ("ta021", "VFR30_15_2", "ta031")
    assert found[11:] == ("ta040", "ta001", "ta002")


@pytest.mark.parametrize("word", ["ta121", "ta001 ta002", "shop.csv", "ta:20x21"])
def test_an_unknown_name_in_a_list_is_refused_with_its_line(tmp_path, word):
    file = tmp_path / "list"
    file.write_text(f"ta001\n# none\n{word}\n")
    with pytest.raises(OptionError, match=rf"{file}, line 3: .*{word}"):
        members([str(file)])


def test_a_text_of_instances_is_no_list(tmp_path):
    file = tmp_path / "two.txt"
    file.write_text("jobs, machines\n2 1\nprocessing times\n3 4\n")
    assert members([str(file)]) == (str(file),)
    file.write_text("# nothing\n")
    with pytest.raises(InstanceError):
        members([str(file)])


def test_tables_say_where_a_schedule_is_from(tmp_path):
    file = tmp_path / "best.csv"
    file.write_text(
        "name;ub;ub_source;permutation_1based\na;9;zenodo;2 1 3\nb;8;;1 2\n"
    )
    assert read_schedules(file) == {
        "a": KnownSchedule((1, 0, 2), "zenodo, best.csv"),
        "b": KnownSchedule((0, 1), "best.csv"),
    }
    file.write_text("permutation,name\n1 0,a\n")
    assert read_schedules(file) == {"a": KnownSchedule((1, 0), "best.csv")}
    file.write_text("name,permutation\nta1,1 0\nvfr10_5_01_Gap,0 1\n")
    assert list(read_schedules(file)) == ["ta001", "VFR10_5_1"]
    file.write_text("permutation,name\n1 0\n")
    assert list(read_schedules(file)) == [""]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,order\na,1 0\n", "with the columns name and permutation or"),
        ("name,permutation\na,1 x\n", "line 2: expected the numbers of jobs, got '1"),
        ("name,permutation\na,1 2\n", "line 2: expected jobs 0 to 1"),
        ("name,permutation\na\n", "line 2: expected the numbers of jobs, got None"),
    ],
)
def test_other_tables_are_refused(tmp_path, text, message):
    file = tmp_path / "best.csv"
    file.write_text(text)
    with pytest.raises(OptionError, match=message):
        read_schedules(file)
    with pytest.raises(OptionError, match="--schedules: expected a CSV table"):
        read_schedules(tmp_path / "none.csv")
