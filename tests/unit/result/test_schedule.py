from __future__ import annotations

import numpy as np

from dpbb.result.schedule import Schedule

SCHEDULE = Schedule((1, 0), np.array([[2, 5], [0, 2]]), np.array([[5, 6], [2, 5]]))
CSV = "position,job,machine,start,end\n0,1,0,0,2\n0,1,1,2,5\n1,0,0,2,5\n1,0,1,5,6\n"


def test_csv_has_an_operation_a_line_by_position(tmp_path):
    SCHEDULE.write_csv(tmp_path / "schedule.csv")
    assert (tmp_path / "schedule.csv").read_text() == CSV


def test_dataframe_holds_what_the_csv_holds():
    frame = SCHEDULE.to_dataframe()
    assert frame.to_csv(index=False) == CSV


def test_text_lists_the_jobs_in_order_of_processing():
    lines = str(SCHEDULE).splitlines()
    assert lines[0].split() == ["job", "machine", "0", "machine", "1"]
    assert [line.split() for line in lines[1:]] == [
        ["1", "0-2", "2-5"],
        ["0", "2-5", "5-6"],
    ]
    assert "<pre>" in SCHEDULE._repr_html_()
