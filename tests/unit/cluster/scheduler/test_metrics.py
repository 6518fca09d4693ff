"""Values of the metrics, and the Grafana dashboard that shows them."""

import json
import re
from dataclasses import replace
from pathlib import Path

from dpbb.cluster.scheduler.metrics import GAUGES, values_of
from dpbb.coordination.snapshot import CheckpointSnapshot, Left
from tests.unit.dashboard.fakes import BASE

GRAFANA = Path(__file__).resolve().parents[4] / "deploy" / "grafana" / "dpbb.json"


def test_values_of_a_run():
    values = values_of(BASE)
    assert values.keys() <= GAUGES.keys()
    assert values["nodes"] == 1_500_007
    assert values["incumbent"] == 12
    assert "estimate_seconds" not in values
    assert "checkpoint_age_seconds" not in values
    assert "incumbent" not in values_of(replace(BASE, value=None))


def test_age_of_the_checkpoint():
    saved = CheckpointSnapshot("/there", "host", 60.0, last_s=4.0, failures=2)
    left = Left((20.0, 50.0, 90.0), (2.0, 5.0, 9.0))
    values = values_of(replace(BASE, checkpoint=saved, left=left, energy_j=7.0))
    assert values["checkpoint_age_seconds"] == 6.0
    assert values["checkpoint_failures"] == 2
    assert values["estimate_seconds"] == 5.0
    assert values["estimate_low_seconds"] == 2.0
    assert values["energy_joules"] == 7.0
    assert values.keys() == GAUGES.keys()


def test_grafana_asks_for_metrics_that_there_are():
    dashboard = json.loads(GRAFANA.read_text())
    asked = set(re.findall(r"dask_dpbb_(\w+)", GRAFANA.read_text()))
    assert asked == {*GAUGES, "runs", "units", "seats", "run_state"}
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    cells = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
