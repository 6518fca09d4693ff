"""Make the pictures of the dashboard in docs/images.

Needs Chromium, Playwright (``pip install "dpbb[test]"``) and Pillow. Solves ta021 from
a bad schedule on a cluster of this machine, and takes pictures of several widths on the
way, once it is known what is left. With ``--moments``: what a person sees when two runs
share a cluster, a worker is killed, the scheduler is gone, a run is resumed and
stopped.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

SIZE = {"width": 1400, "height": 900}
PAGES = {
    "dashboard-light": ("light", 1400, 900),
    "dashboard-dark": ("dark", 1400, 900),
    "dashboard-420": ("light", 420, 1400),
    "dashboard-1280": ("light", 1280, 900),
    "dashboard-1920": ("dark", 1920, 1080),
}
"""Pictures: theme, width and height."""

MAX_BYTES = 150_000
WAIT_MS = 120_000
LATE = 0.8
"""Of the search space: then the picture is taken, whether what is left is known."""


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
    parser.add_argument("--explored", type=float, default=0.3)
    parser.add_argument(
        "--moments", action="store_true", help="those of docs/watching.md alone"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    options = parser.parse_args()
    if options.moments:
        moments(options.out)
        return 0
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
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        support.browser() as browser,
    ):
        saved = replace(spec.options, checkpoint=str(Path(folder) / "checkpoints"))
        spec = replace(spec, options=saved)
        address = support.page_address(client)
        with submit_run(client, spec) as run:
            pages = {}
            for name, (theme, width, height) in PAGES.items():
                size = {"width": width, "height": height}
                page = pages[name] = browser.new_page(viewport=size)
                page.set_default_timeout(WAIT_MS)
                page.goto(f"{address}?theme={theme}")
            while (now := run.snapshot()).explored < options.explored or (
                not now.left and now.explored < LATE
            ):
                time.sleep(0.2)
            time.sleep(2.5)
            for name, page in pages.items():
                take(page, options.out / f"{name}.png")
            run.stop()
    return 0


def moments(out: Path) -> None:
    """Take what a person sees when runs share workers, and when something is killed."""
    import os
    import signal

    from distributed import Client, LocalCluster

    import dpbb
    from tests.browser import support

    def cluster(port: int) -> LocalCluster:
        return LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=f"127.0.0.1:{port}"
        )

    with tempfile.TemporaryDirectory() as name, support.browser() as browser:
        folder = str(Path(name) / "ta056")
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(WAIT_MS)

        def look(file: str, shown: str, text: str, height: int = 560) -> None:
            page.locator(shown, has_text=text).first.wait_for(timeout=WAIT_MS)
            page.wait_for_timeout(1500)
            page.screenshot(
                path=out / file,
                clip={"x": 0, "y": 0, "width": SIZE["width"], "height": height},
            )
            check(out / file)

        options = {"cutoff": 3679, "checkpoint": folder, "checkpoint_interval_s": 5}
        with cluster(0) as first, Client(first, set_as_default=False) as client:
            # looked at as somebody does who comes back later
            address = support.page_address(client)
            port = int(address.rpartition(":")[2].partition("/")[0])
            run = dpbb.submit("ta056", client=client, bound="lb1", **options)
            other = dpbb.submit("ta052", client=client, cutoff=3699, bound="lb1")
            page.goto(f"{address}?theme=light&run={run.run_id}")
            look("moment-two-runs.png", "#dpbb-runs td", "ta052")
            other.close()
            worker = next(iter(client.run(os.getpid).values()))
            os.kill(worker, signal.SIGKILL)
            look("moment-worker-killed.png", "#dpbb-banner", "worker lost")
        look("moment-scheduler-killed.png", "#dpbb-lost", "was lost at")
        page.close()  # with its connections, and its looks for the scheduler
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(WAIT_MS)
        with cluster(port) as second, Client(second, set_as_default=False) as client:
            ask = threading.Event()
            how = {"client": client, "should_stop": ask.is_set, "progress": "none"}
            resumed = threading.Thread(target=dpbb.resume, args=(folder,), kwargs=how)
            resumed.start()
            while not (runs := dpbb.runs(client)):
                time.sleep(0.2)
            page.goto(f"{address}?theme=light&run={runs[0].run_id}")
            look("moment-resumed.png", "#dpbb-events", "resumed", 900)
            ask.set()
            look("moment-stopped.png", "#dpbb-status", "stopped", 300)
            resumed.join()


def take(page, file: Path) -> None:  # noqa: ANN001
    """Take a picture of all that is seen."""
    page.screenshot(path=file)
    check(file)


def check(file: Path) -> None:
    """Make a picture small, and see that it is, for the repository."""
    from PIL import Image

    plain = Image.open(file).convert("RGB").quantize(dither=Image.Dither.NONE)
    plain.save(file, optimize=True)
    size = file.stat().st_size
    print(f"{file}: {size:,} bytes")  # noqa: T201
    if size > MAX_BYTES:
        raise SystemExit(f"{file}: expected at most {MAX_BYTES:,} bytes, got {size:,}")


if __name__ == "__main__":
    raise SystemExit(main())
