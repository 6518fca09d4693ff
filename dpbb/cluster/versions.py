"""Version handshake: the same dpbb on the client, the scheduler and every worker.

Two versions may number the leaves of a tree differently, and an interval would then
mean two sets of permutations (law 1), so nothing but equality will do.
"""

import socket
import sys
from typing import Any

import dpbb
from dpbb.errors import ClusterError
from dpbb.tree.branching import TREE_RULE_VERSION

PROTOCOL_VERSION = 6
"""Raised whenever a message between client, scheduler and workers changes."""

FIX = (
    "install the same dpbb there: in the image or environment that it runs in, or with "
    "client.register_plugin(dask.distributed.PipInstall(['dpbb=={version}']))"
)


def versions() -> dict[str, str | int]:
    """Return the versions that have to agree, and where they are from."""
    return {
        "dpbb": dpbb.__version__,
        "protocol": PROTOCOL_VERSION,
        "tree_rule": TREE_RULE_VERSION,
        "host": socket.gethostname(),
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def check_versions(theirs: dict[str, Any], where: str) -> None:
    """Raise ClusterError unless ``theirs`` agrees with this process.

    Parameters
    ----------
    theirs
        What ``versions`` gave there, or ``{"error": text, "host": name}`` where dpbb
        cannot be imported.
    where
        What to call the other side, such as ``"the worker tcp://..."``.
    """
    ours = versions()
    place = f"{where} (host {theirs.get('host', 'unknown')})"
    fix = FIX.format(version=ours["dpbb"])
    if "error" in theirs:
        raise ClusterError(
            f"dpbb cannot be imported on {place}: {theirs['error']}; {fix}"
        )
    for key, what in (
        ("dpbb", "dpbb"),
        ("protocol", "message protocol"),
        ("tree_rule", "tree rule"),
    ):
        if theirs.get(key) != ours[key]:
            raise ClusterError(
                f"expected {what} version {ours[key]} on {place}, got "
                f"{theirs.get(key)}; {fix}"
            )


def scheduler_probe() -> Any:
    """Return a function for ``Client.run_on_scheduler`` that needs no dpbb there.

    It is defined in here, so that it is pickled by value, and it reports rather than
    raises when dpbb cannot be imported.
    """

    def probe(dask_scheduler: Any = None) -> dict[str, Any]:
        import socket

        answer: dict[str, Any] = {"host": socket.gethostname()}
        try:
            from dpbb.cluster.versions import versions
        except Exception as error:  # noqa: BLE001 - any failure is the answer
            answer["error"] = f"{type(error).__name__}: {error}"
        else:
            answer.update(versions())
        answer["registered"] = "dpbb" in dask_scheduler.plugins
        answer["address"] = dask_scheduler.address
        return answer

    return probe
