"""Worlds for dpbb to live in: simulated clusters, faults, browsers on its page.

They show what no user measures on a machine of their own: how far the coordinator
reaches, that counts stay exact whatever fails, what the page costs.
``python -m tests.worlds --help``, in the root of the repository, lists them.
"""
