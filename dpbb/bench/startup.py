"""What a cold start is made of: imports, code, device, in the order of a solve.

Each part is timed in one process, one after the other; a solve has them in two (its
own and its worker's) at the same time. Also runnable as ``python -m dpbb.bench.startup
ta056 gpu``.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module


def parts_of_a_start(name: str, engine: str) -> dict[str, float]:
    """Return the seconds of each part of a start, of an instance of Taillard's.

    Parameters
    ----------
    name
        Of the instance, such as ``"ta056"``.
    engine
        ``"cpu"`` or ``"gpu"``.
    """
    laps: dict[str, float] = {}

    def lap(part: str, do: Callable[[], object]) -> None:
        began = time.perf_counter()
        do()
        laps[part] = time.perf_counter() - began

    def code_of_heuristics() -> None:
        from dpbb.flowshop.heuristics import first_incumbent
        from dpbb.problem import StartSearch

        # as long as it takes, and one iteration
        first_incumbent(problem.instance, StartSearch(iterations=1, threads=1))

    def context() -> None:
        from dpbb.kernels.nvrtc import require_gpu

        require_gpu().cuda.runtime.free(0)

    def kernels() -> None:
        from dpbb.engines.registry import get_engine
        from dpbb.options import TreeOptions
        from dpbb.problem import bound_of

        chosen = get_engine(engine)
        tree = TreeOptions(bound=bound_of(problem))
        chosen.warm_up(problem, tree, chosen.devices()[0])

    lap("dpbb", lambda: import_module("dpbb.api"))
    from dpbb.flowshop import FlowShopProblem, taillard_instance

    problem = FlowShopProblem(taillard_instance(name))
    lap("Dask", lambda: import_module("distributed"))
    lap("heuristics' code", code_of_heuristics)
    if engine == "gpu":
        lap("CuPy", lambda: import_module("cupy"))
        lap("CUDA context", context)
    lap("engine's code", kernels)
    return laps


if __name__ == "__main__":
    print(json.dumps(parts_of_a_start(*sys.argv[1:])))
