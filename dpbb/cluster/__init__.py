"""Runs on a Dask cluster: the folders say on which machine a line runs.

``client`` runs in the user's process, ``scheduler`` on the scheduler, ``worker`` on the
workers. ``local`` is a cluster of one's own on this machine, ``storage`` keeps
checkpoints as files. Here: what all sides of a cluster share.
"""
