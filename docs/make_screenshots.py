"""Make the pictures of the dashboard in docs/images.

Needs Chromium and Playwright (``pip install "dpbb[test]"``). Solves ta021 from a bad
schedule on a cluster of this machine, and takes one picture in each theme on the way,
and one at the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

SIZE = {"width": 1400, "height": 900}
MAX_BYTES = 250_000


def main() -> int:
    """Run a solve, and look at it."""
    from distributed import Client, LocalCluster

    from dpbb.cluster.client.open import submit_run
    from dpbb.coordination.messages import RunSpec
    from dpbb.flowshop.problem import FlowShopProblem
    from dpbb.flowshop.taillard import taillard_instance
    from dpbb.options import RunOptions, TreeOptions
    from tests.browser import support

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", default="ta021")
    parser.add_argument("--explored", type=float, default=0.6)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    problem = FlowShopProblem(taillard_instance(options.instance))
    spec = RunSpec(
        run_id=uuid4().hex[:12],
        problem=problem,
        tree=TreeOptions(),
        instance=options.instance,
        engine="cpu",
        permutation=tuple(range(problem.n_jobs)),
        options=RunOptions(report_interval_s=0.2, checkpoint_interval_s=4.0),
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        support.browser() as browser,
    ):
        spec = replace(spec, checkpoint=str(Path(folder) / "checkpoints"))
        address = support.page_address(client)
        with submit_run(client, spec, make_result=lambda outcome: outcome) as run:
            pages = {}
            for theme in ("light", "dark"):
                page = pages[theme] = browser.new_page(viewport=SIZE)
                page.goto(f"{address}?theme={theme}")
            while run.snapshot().explored < options.explored:
                time.sleep(0.2)
            for theme, page in pages.items():
                take(page, options.out / f"dashboard-{theme}.png")
            run.result()
            time.sleep(2.5)
            take(pages["light"], options.out / "dashboard-finished.png")
    return 0


def take(page, file: Path) -> None:  # noqa: ANN001
    """Take a picture; it must be small enough for the repository."""
    page.screenshot(path=file)
    size = file.stat().st_size
    print(f"{file}: {size:,} bytes")  # noqa: T201
    if size > MAX_BYTES:
        raise SystemExit(f"{file}: expected at most {MAX_BYTES:,} bytes, got {size:,}")


if __name__ == "__main__":
    raise SystemExit(main())
