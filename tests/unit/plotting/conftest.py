"""No window is ever opened, and nothing global may change."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def nothing_global_changes():
    from matplotlib import pyplot

    pyplot.close("all")  # what other tests in this process have left open
    before = dict(matplotlib.rcParams)
    yield
    pyplot.close("all")
    assert dict(matplotlib.rcParams) == before


@pytest.fixture
def ax():
    """Axes of a figure that pyplot knows nothing of; it may not know of it later."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    yield figure.subplots()
    figure.canvas.draw()  # whatever is wrong with an artist shows now
    assert pyplot.get_fignums() == []
