"""Prove a 20 x 20 instance on a GPU, or on the CPU where there is none.

    python examples/04_gpu.py

Needs CuPy: ``pip install "dpbb[cuda13]"`` (or cuda12). One worker process is started
for every GPU of this machine.
"""

import dpbb
from dpbb.engines.registry import available_engines


def main() -> None:
    reason = available_engines()["gpu"]
    if reason is None:
        # 448 million nodes at UB 2297: well under a second of exploration on an H100
        instance, options = "ta021", {"engine": "gpu", "upper_bound": 2298}
    else:
        print(f"no GPU here: {reason}")
        instance, options = "ta028", {"engine": "cpu"}
    result = dpbb.solve(instance, **options)
    print(result.summary())


if __name__ == "__main__":
    main()
