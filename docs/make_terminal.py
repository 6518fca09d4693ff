"""Make the picture of the live view in docs/images.

Solves an instance from a bad schedule on this machine and takes the picture on the way,
of what a terminal would show then.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

WIDTH, HEIGHT = 80, 24
MAX_BYTES = 60_000


def main() -> int:
    """Run a solve until it is time, and draw it."""
    from rich.console import Console

    import dpbb
    from dpbb.progress.live import LiveProgress

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instance", default="ta021")
    parser.add_argument("--seconds", type=float, default=15.0, help="of the tree")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images/terminal.svg")
    options = parser.parse_args()
    console = Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        height=HEIGHT,
        force_terminal=True,
        highlight=False,
    )

    class Still(LiveProgress):
        """Writes rows, and the view once, when it is time."""

        picture = ""

        def update(self, snapshot):  # noqa: ANN001, ANN202
            super().update(snapshot)
            late = snapshot.decomposed and snapshot.seconds >= options.seconds
            if late and not self.picture:
                console.print(self)
                self.picture = console.export_svg(
                    title=f"dpbb solve {options.instance}"
                )

        def _open(self) -> None:
            """Draw nothing in between."""

    still = Still(sys.stderr, console=console)
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        dpbb.solve(
            options.instance,
            engine="cpu",
            heuristics="neh",
            checkpoint=f"{folder}/checkpoints",
            checkpoint_interval_s=5,
            progress=still,
            should_stop=lambda: bool(still.picture),
        )
    svg = still.picture
    if not svg:
        raise SystemExit(
            f"--seconds: expected fewer, the tree took less than {options.seconds}"
        )
    # No font from elsewhere: a reader's browser has one.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    options.out.write_text(svg, encoding="utf-8")
    size = options.out.stat().st_size
    print(f"{options.out}: {size:,} bytes")  # noqa: T201
    return int(size > MAX_BYTES)


if __name__ == "__main__":
    raise SystemExit(main())
