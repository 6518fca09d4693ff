"""Interrupt a run and go on from its checkpoint, with other workers.

    python examples/05_checkpoint_resume.py

At a fixed upper bound (a cutoff) the node counts of all parts together are those of a
run that was never interrupted: ta028 below 2200 has 14,523,872 nodes and 46 leaves.
"""

import tempfile
from pathlib import Path

import dpbb


def main() -> None:
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "ta028"
        first = dpbb.solve(
            "ta028",
            cutoff=2200,
            engine="cpu",
            threads=1,
            node_limit=2_000_000,
            checkpoint=str(folder),
            verbosity="quiet",
        )
        print(f"interrupted after {first.decomposed:,} nodes: {first.termination}")
        print("in the folder:", *sorted(path.name for path in folder.iterdir()))

        result = dpbb.resume(folder, engine="cpu", workers=2, verbosity="quiet")
        print(result.summary())


if __name__ == "__main__":
    main()
