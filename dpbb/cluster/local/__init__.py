"""The embedded cluster: a scheduler and worker processes for one solve here."""

from dpbb.cluster.local.embedded import connect, embedded_cluster

__all__ = ["connect", "embedded_cluster"]
