"""What tests on the emulated device share."""

from dpbb.flowshop.problem import FlowShopProblem
from dpbb.flowshop.taillard import taillard_instance


def steals(gpu):
    """Whether a subject balances by intervals."""
    return gpu.spec.tuning.balance == "steal"


def problem_of(name):
    return FlowShopProblem(taillard_instance(name))


def counted(total):
    """Decomposed nodes and leaves."""
    return total.counters.decomposed, total.counters.leaves
