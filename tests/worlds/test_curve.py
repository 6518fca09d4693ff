"""The curve of efficiency by the number of simulated seats."""

import pytest
from matplotlib.figure import Figure

from tests.worlds.scale.curve import plot_scale, scale_curve


@pytest.fixture
def ax():
    return Figure(figsize=(7, 4), layout="constrained").subplots()


def test_curve_of_the_simulation(ax, tmp_path):
    points = [("as measured", 16, 0.99, 0.1), ("as measured", 64, 0.95, 0.3)]
    points.append(("doubled", 64, 0.8, 0.5))
    assert scale_curve(points, 600, ax) is ax
    assert [list(line.get_ydata()) for line in ax.lines[:3]] == [
        [99, 95],
        [10, 30],
        [80],
    ]
    assert "600 s" in ax.get_xlabel()
    plot_scale(points, 600, tmp_path / "scale.png")
    assert (tmp_path / "scale.png").stat().st_size > 2000


def test_what_is_reported_elsewhere_is_a_band_that_covers_nothing(ax):
    seats = (16, 64, 256, 1024, 4096, 16384)
    points = [("as measured", n, 0.99, 0.01 * i) for i, n in enumerate(seats)]
    scale_curve([*points, ("costs doubled", 4096, 0.91, 0.5)], 600, ax)
    ax.figure.canvas.draw()
    (band,), (label,) = ax.patches, ax.texts
    assert (band.get_x(), band.get_x() + band.get_width()) == (32, 128)
    box = label.get_window_extent()
    shade = ax.transData.transform([(32, 0), (128, 100)])
    assert shade[0, 0] <= box.x0 < box.x1 <= shade[1, 0]
    for line in ax.lines:
        xy = line.get_transform().transform(line.get_xydata())
        assert not any(box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1 for x, y in xy)


def test_band_is_left_out_where_no_seats_are_near(ax):
    scale_curve([("as measured", n, 0.9, 0.1) for n in (1024, 2048)], 600, ax)
    assert not ax.patches
    assert not ax.texts
