"""The search tree: factoradic leaf numbers, roots, work units, branching rules."""

from dpbb.tree.branching import TREE_RULE_VERSION as TREE_RULE_VERSION
from dpbb.tree.branching import choose_back as choose_back
from dpbb.tree.counters import Counters as Counters
from dpbb.tree.factoradic import n_leaves as n_leaves
from dpbb.tree.work_unit import WorkUnit as WorkUnit
