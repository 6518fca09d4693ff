"""Make the plots of the documentation in docs/images: one of each kind, of real runs.

Needs Matplotlib (``pip install "dpbb[plot]"``). Solves the joinery of the examples, and
ta021 from a bad schedule on a cluster of this machine, whose snapshots are kept.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

MAX_BYTES = 150_000
DPI = 110
MEASURED = [
    {"tree": f"{tree}, {nodes} nodes", "gpus": gpus, "nodes_per_s": float(nodes) / at}
    for tree, nodes, times in (
        ("ta056", "2.1e11", {1: 38.8, 2: 20.5, 4: 10.9}),
        ("VFR30_15_5", "5.3e11", {1: 64.9, 2: 33.2, 4: 17.8}),
        ("VFR30_15_9", "3.4e12", {1: 424.2, 2: 214.9, 4: 106.5}),
    )
    for gpus, at in times.items()
]
"""Of ``dpbb bench multigpu`` on NVIDIA H200, as docs/benchmarks.md has it."""


def main() -> int:
    """Run all, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--instance", default="ta021", help="of the run (default ta021)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    draw_runs(options.instance, options.out)
    return 0


def draw_runs(instance: str, out: Path) -> None:
    """Solve, and draw what was solved and what was measured."""
    import dpbb

    shop = dpbb.read_instance(ROOT / "examples" / "joinery.csv")
    save(dpbb.solve(shop, verbosity="quiet"), "gantt", out / "gantt.png")
    draw_shops(out)
    snapshots = watch(instance)
    save(snapshots, "convergence", out / "convergence.png")
    middle = min(snapshots, key=lambda snapshot: abs(snapshot.explored - 0.5))
    save(middle, "intervals", out / "search-space-now.png")
    save(MEASURED, "speedup", out / "speedup.png")


def draw_shops(out: Path) -> None:
    """Solve and draw the shops of docs/shop.md."""
    import dpbb

    folder = ROOT / "examples" / "shops"
    paint = {"setups": folder / "paint-setups.json", "objective": "total-tardiness"}
    bakery = {"lags": folder / "bakery-lags.csv", "unlimited": "proof,cool"}
    dated = {"objective": "max-tardiness"}
    for name, how in (("paint", paint), ("bakery", bakery), ("deadlines", dated)):
        shop = dpbb.FlowShop(folder / f"{name}.csv", **how)
        save(dpbb.solve(shop, verbosity="quiet"), "gantt", out / f"{name}.png")


def watch(name: str) -> list:
    """Solve an instance from a bad schedule; returns a snapshot for every moment."""
    from distributed import Client, LocalCluster

    from dpbb.cluster.client.open import submit_run
    from dpbb.coordination.messages import RunSpec
    from dpbb.flowshop.problem import FlowShopProblem
    from dpbb.flowshop.taillard import taillard_instance
    from dpbb.options import RunOptions, TreeOptions

    problem = FlowShopProblem(taillard_instance(name))
    spec = RunSpec(
        run_id=uuid4().hex[:12],
        problem=problem,
        tree=TreeOptions(),
        instance=name,
        engine="cpu",
        permutation=tuple(range(problem.n_jobs)),
        options=RunOptions(report_interval_s=0.2, checkpoint_interval_s=1.0),
    )
    with (
        LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        submit_run(client, spec) as run,
    ):
        return [*run.stream(0.2)]


def save(data, kind: str, file: Path) -> None:  # noqa: ANN001
    """Draw a plot into a file."""
    from dpbb.plotting import figure_of

    figure_of(data, kind).savefig(file, dpi=DPI)
    check(file)


def check(file: Path) -> None:
    """Pictures must be small enough for the repository."""
    size = file.stat().st_size
    print(f"{file}: {size:,} bytes")  # noqa: T201
    if size > MAX_BYTES:
        raise SystemExit(f"{file}: expected at most {MAX_BYTES:,} bytes, got {size:,}")


if __name__ == "__main__":
    raise SystemExit(main())
