"""Names of others in plots: formulas of Matplotlib they are not, and long at times."""

import pytest

from dpbb.plotting import convergence, gantt
from tests.unit.plotting.samples import result

FORMULA = r"cost$\foo$_{"


def title(ax):
    return ax.get_title("left")


@pytest.mark.parametrize("draw", [gantt, convergence])
def test_a_name_with_dollar_signs_is_drawn_as_it_is(ax, draw):
    draw(result(instance=FORMULA), ax)  # the figure is drawn when the test is over
    assert title(ax).startswith(FORMULA)
