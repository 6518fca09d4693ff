import csv
import io
import re
from dataclasses import replace

import pytest

from dpbb.campaign import report
from dpbb.campaign.folder import Record
from dpbb.estimation.rates import h100_rate
from dpbb.estimation.result import ONLY_LEAST
from dpbb.result import Totals

RATE = h100_rate(50, 20).nodes_per_second

A = Record(
    source="ta021", instance="ta021", digest="d1", n_jobs=20, n_machines=20,
    status="optimal", makespan=2297, permutation=(1, 0), lower_bound=2297,
    best_lower=2297, best_upper=2297, engine="gpu", attempts=1,
    totals=Totals(
        decomposed=90, leaves=10, seconds=3600.0, gpu_seconds=1800.0, energy_j=7.2e6
    ),
)  # fmt: skip
B = Record(
    source="ta051", instance="ta051", digest="d2", n_jobs=50, n_machines=20,
    status="feasible", makespan=3845, permutation=(2, 0, 1), lower_bound=3780,
    best_lower=3771, best_upper=3846, totals=Totals(seconds=1800.0),
    engine="cpu", certificate="certificates/ta051.json.gz", attempts=2,
    estimated=RATE * 3600, low=RATE * 360, high=RATE * 3.6e6,
)  # fmt: skip


def test_classes_add_up():
    small, large, whole = report.classes([A, B])
    assert small == ("20x20", 1, 1, 0, 0, 100, 1.0, 0.5, 2.0)
    assert large == ("50x20", 1, 0, 1, 1, 0, 0.5, 0.0, None)
    assert whole == ("all", 2, 1, 1, 1, 100, 1.5, 0.5, 2.0)


def test_forms_hold_every_instance():
    rows = list(csv.DictReader(io.StringIO(report.as_csv([A, B]))))
    assert [row["instance"] for row in rows] == ["ta021", "ta051"]
    assert rows[0]["gpu_hours"] == "0.5"
    assert [row["nodes"] for row in rows] == ["100", "0"]
    markdown = re.sub(" +", " ", report.as_markdown([A, B]))
    assert "| all | 2 | 1 | 1 | 1 | 100 | 1.5 | 0.5 | 2 |" in markdown
    assert markdown.count("\n| ta021") == 1
    assert markdown.count("\n| ta051") == 2  # it is not proved
    assert report.as_news([B]) in markdown
    named = replace(B, source="b_1", instance="b_1", status="infeasible_cutoff")
    latex = report.as_latex([A, named])
    assert r"50x20 & 1 & 0 & 1 & 1 & 0 & 0.5 & 0 & - \\" in latex
    row = r"b\_1 & infeasible\_cutoff & 3,780 & 3,845 & 3,771 & 3,846 & 0 & 1800 & - \\"
    assert row in latex
    assert latex.count(r"\midrule") == 2


def test_what_is_left_says_what_it_costs():
    (row,) = report.left([A, B])
    assert row[:5] == ("ta051", "50x20", 3780, 3845, None)
    assert row[8:11] == pytest.approx((1.0, 0.1, 1000.0))
    assert row[11] == "perhaps"
    dear = replace(B, instance="dear", estimated=1e20, low=1e19, high=1e21)
    cheap = replace(B, instance="cheap", high=RATE * 7200)
    rows = report.left([dear, A, cheap, replace(B, estimated=None)])
    assert [(row[0], row[-1]) for row in rows] == [("cheap", "yes"), ("dear", "no")]


@pytest.mark.parametrize(("hours", "within"), [(2.0, "perhaps"), (200.0, "no")])
def test_what_explored_as_much_as_its_estimate_is_unknown_and_last(hours, within):
    estimated = RATE * 3600 * hours
    one = replace(
        B, instance="more", estimated=estimated,
        totals=Totals(leaves=int(estimated) + 1),
    )  # fmt: skip
    dear = replace(B, instance="dear", estimated=1e20, low=1e19, high=1e21)
    last = report.left([one, dear])[1]
    assert last[0] == "more"
    assert last[5] == f"> {estimated:.4g}"
    assert last[6] == pytest.approx(estimated)
    assert (last[7], last[8], last[10]) == (None, f"> {hours:.4g}", None)
    assert last[11] == within
    assert ONLY_LEAST.capitalize() not in report.as_markdown([one])
