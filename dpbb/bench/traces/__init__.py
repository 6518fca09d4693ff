"""Recorded trees: how real work falls apart when it is split.

``tree.py`` reads and records trees node by node, ``units.py`` reads what runs recorded
unit by unit; both end as a ``SplitTree``.
"""
