"""The search tree: factoradic leaf numbers, roots, work units, branching rules."""

from dpbb.tree.branching import TREE_RULE_VERSION, choose_back
from dpbb.tree.counters import Counters
from dpbb.tree.factoradic import digits_of_leaf, leaf_of_path, n_leaves
from dpbb.tree.interval import Interval
from dpbb.tree.root import Root
from dpbb.tree.work_unit import WorkUnit

__all__ = [
    "TREE_RULE_VERSION",
    "Counters",
    "Interval",
    "Root",
    "WorkUnit",
    "choose_back",
    "digits_of_leaf",
    "leaf_of_path",
    "n_leaves",
]
