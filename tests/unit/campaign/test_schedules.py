import pytest

from dpbb.campaign.schedules import KnownSchedule, read_schedules
from dpbb.errors import OptionError


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
