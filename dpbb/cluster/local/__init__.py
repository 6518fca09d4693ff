"""The cluster of one solve on this machine: its scheduler and worker processes."""

from dpbb.cluster.local.embedded import embedded_cluster as embedded_cluster
