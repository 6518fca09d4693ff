"""Names of others in plots: formulas of Matplotlib they are not, and long at times."""

import pytest

from dpbb.plotting import convergence, gantt
from tests.unit.plotting.samples import result

FORMULA = r"cost$\foo$_{"
LONG = "first_" + "x" * 131 + "_last"


def title(ax):
    return ax.get_title("left")


@pytest.mark.parametrize("draw", [gantt, convergence])
def test_a_name_with_dollar_signs_is_drawn_as_it_is(ax, draw):
    draw(result(instance=FORMULA), ax)  # the figure is drawn when the test is over
    assert title(ax).startswith(FORMULA)


@pytest.mark.parametrize("draw", [gantt, convergence])
def test_of_a_long_name_the_middle_is_left_out(ax, draw):
    figure = ax.figure
    figure.set_size_inches(8, 4)
    draw(result(instance=LONG), ax)
    assert title(ax).startswith("first_x")
    assert "x_last: makespan 36, " in title(ax)
    figure.canvas.draw()
    box = ax.title.get_window_extent(), ax._left_title.get_window_extent()
    assert box[1].x1 <= figure.bbox.width
