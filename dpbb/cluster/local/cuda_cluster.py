"""``dask_cuda.LocalCUDACluster`` for several GPUs of this host, where it is installed.

It starts one worker for each GPU and binds it to the cores and the memory near it.
Without the package, or when it fails, ``dpbb.cluster.local`` starts the same number of
processes by itself; one GPU never needs it.
"""

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

logger = logging.getLogger(__name__)

PACKAGE = "dask_cuda"


def is_installed() -> bool:
    """Whether dask-cuda can be imported; does not do it."""
    return find_spec(PACKAGE) is not None


def local_cuda_cluster(
    gpus: Sequence[str], *, host: str, threads: int, dashboard_address: str
) -> Any:
    """Start a worker for each GPU; None, with a warning, when that fails.

    Parameters
    ----------
    gpus
        Entries of CUDA_VISIBLE_DEVICES.
    host
        Interface to listen on.
    threads
        Of each worker.
    dashboard_address
        Of the scheduler's dashboard.
    """
    try:
        from dask_cuda import LocalCUDACluster

        return LocalCUDACluster(
            CUDA_VISIBLE_DEVICES=",".join(gpus),
            threads_per_worker=threads,
            protocol="tcp",
            host=host,
            dashboard_address=dashboard_address,
            silence_logs=logging.ERROR,
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, there is another way
        logger.warning("LocalCUDACluster cannot start: %s; going on without", error)
        return None
