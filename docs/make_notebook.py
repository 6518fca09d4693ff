"""Make the picture of a notebook in docs/images.

Needs JupyterLab, Chromium and Playwright (``pip install jupyterlab "dpbb[test]"``).
Executes cells in JupyterLab: one follows a run, while another solves ta022.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

OUT = ROOT / "docs" / "images" / "notebook.png"
SIZE = {"width": 1180, "height": 540}
MAX_BYTES = 150_000
TIMEOUT_S = 60.0

CELLS = (
    'import dpbb\nrun = dpbb.submit("ta021", threads=2)\n'
    "thread = run.watch(block=False)  # follows the run to its end",
    'dpbb.solve("ta022", threads=1)',
)


def main() -> int:
    """Open a notebook, execute it, look at it."""
    import nbformat

    from tests.browser import support

    nb = nbformat.v4
    with tempfile.TemporaryDirectory() as folder:
        notebook = nb.new_notebook(
            cells=[nb.new_code_cell(cell) for cell in CELLS],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, Path(folder) / "watch.ipynb")
        with jupyterlab(Path(folder)) as address, support.browser() as browser:
            page = browser.new_page(viewport=SIZE)
            page.set_default_timeout(1000 * TIMEOUT_S)
            page.goto(f"{address.replace('?', 'lab/tree/watch.ipynb?')}&reset")
            page.add_style_tag(content=".Toastify { display: none }")
            page.locator(".jp-Notebook .jp-CodeCell").first.click()
            page.get_by_role("menuitem", name="Run", exact=True).click()
            page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
            page.locator(".jp-Notebook", has_text="optimal, as the tree").wait_for()
            page.locator(".jp-Notebook", has_text="running").wait_for()
            time.sleep(2.0)  # for a rate of more than the first moments
            cells = page.locator(".jp-Notebook .jp-CodeCell")
            cells.last.locator(".jp-OutputArea").scroll_into_view_if_needed()
            page.locator(".jp-NotebookPanel-notebook").screenshot(path=OUT)
    size = OUT.stat().st_size
    print(f"{OUT}: {size:,} bytes")  # noqa: T201
    return 0 if size <= MAX_BYTES else 1


@contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """Run a JupyterLab for a while; its address, with a token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = uuid4().hex
    settings = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.root_dir": folder,
        "ServerApp.allow_root": True,
        "ServerApp.open_browser": False,
        "IdentityProvider.token": token,
        "LabApp.news_url": None,
    }
    command = [sys.executable, "-m", "jupyterlab"]
    command += [f"--{name}={value}" for name, value in settings.items()]
    inside = {name: str(folder) for name in ("HOME", "JUPYTER_CONFIG_DIR")}
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    server = subprocess.Popen(  # noqa: S603
        command,
        env=os.environ | inside | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/?token={token}"
    try:
        until = time.monotonic() + TIMEOUT_S
        while True:
            try:
                urllib.request.urlopen(address.replace("?", "api?")).close()  # noqa: S310
                break
            except (urllib.error.URLError, ConnectionError):
                if server.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    raise SystemExit(main())
