from __future__ import annotations

import pytest

from dpbb.errors import OptionError
from dpbb.options import OPTIONS, EngineName, SolveOptions, Tuning

ANY_TEXT = "bound certificate checkpoint heuristics optima_file scheduler"


@pytest.mark.parametrize(
    "row",
    [row for row in OPTIONS.values() if row.name not in ANY_TEXT.split()],
    ids=lambda row: row.name,
)
def test_parsing_a_flag_refuses_nonsense_under_the_name_of_the_flag(row):
    with pytest.raises(OptionError, match=f"^{row.flag}"):
        row.kind.parse("/no such value", row.flag)


def test_toml_table_is_read(tmp_path):
    order = tmp_path / "order.txt"
    order.write_text("1 0 2")
    file = tmp_path / "run.toml"
    file.write_text(
        f'[solve]\nengine = "cpu"\ntime_limit_s = 5\ninitial = "{order}"\n'
        f'[solve.tuning]\nroot_order = "{order}"\nbalance = "steal"\n'
    )
    options = SolveOptions.from_toml(file)
    assert options.engine is EngineName.CPU
    assert options.time_limit_s == 5.0
    assert options.initial == ("1", "0", "2")  # perhaps names
    assert options.tuning == Tuning(root_order=list("102"), balance="steal")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[solve\n", "expected a readable TOML file, got"),
        ("[other]\nx = 1\n", r"expected one table \[solve\], got \[other\]"),
        ("[solve]\nthreds = 3\n", r"run\.toml, threds: .*did you mean threads"),
        (
            '[solve]\nthreads = "3"\n',
            r"run\.toml, threads: expected a whole number from 1 to 1024, got '3'",
        ),
        ("[solve]\ninitial = [1, 2]\n", r"run\.toml, initial: .* subtract 1 from each"),
        ('[solve]\ninitial = "no"\n', r"run\.toml, initial \(no\): .* readable file"),
        ("[solve.tuning]\nballance = 1\n", r"tuning, ballance: .*mean balance"),
        (
            '[solve.tuning]\nbalance = "all"\n',
            "balance: expected one of explode, steal",
        ),
    ],
)
def test_bad_toml_is_refused(tmp_path, content, message):
    file = tmp_path / "run.toml"
    file.write_text(content)
    with pytest.raises(OptionError, match=message):
        SolveOptions.from_toml(file)
