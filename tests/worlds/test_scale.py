"""The simulation: sizes add up, the real ledger comes to n!, nobody invents time."""

import pytest

from tests.worlds.scale.costs import Costs, report_costs, sample_roots
from tests.worlds.scale.physics import Physics
from tests.worlds.scale.suite import Case, simulate_case

COSTS = Costs(
    rpc_s=3e-4, byte_s=2e-10, task_s=2e-3, hint_s=2e-5, heartbeat_s=5e-4, full_s=1e-2,
    gift_s=4e-3, full_loop_s=2e-4, gift_loop_s=1e-3, full_bytes=180_000,
    gift_bytes=50_000,
)  # fmt: skip


@pytest.mark.parametrize("case", [Case(6), Case(24, "costs doubled", 2.0)])
def test_simulated_run_ends_with_all_leaves_closed(case):
    """The coordinator says so itself: it fails a run whose leaves are not n!."""
    physics = Physics(speed=1e6, load_s=0.01, slice_s=0.01, join_s=0.1)
    row = simulate_case(case, costs=COSTS, physics=physics, seconds=8.0)
    tally = row.tally
    assert 0.3 < row.efficiency < 1
    assert 8.0 < tally.seconds < 30
    assert tally.donations > 0
    assert 0 < tally.loop_s < tally.seconds
    parts = (
        tally.useful_s
        + tally.stale_s
        + tally.idle_s
        + tally.starting_s
        + tally.reporting_s
    )
    assert parts == pytest.approx(case.seats * tally.seconds, rel=0.1)


def test_reports_of_the_cost_bench_pass_the_ledger():
    assert len(sample_roots(50, 500)) == 500
    costs = report_costs(500, repeat=2)
    assert costs["full_bytes"] > 1000
    assert costs["gift_s"] > 0
