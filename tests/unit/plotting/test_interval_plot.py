import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from dpbb.coordination.span_map import N_CELLS, states_of
from dpbb.errors import DpbbError
from dpbb.plotting import interval_map
from tests.unit.plotting.samples import checkpoint, snapshot


def parts(ax):
    """State -> [(begin, end)], read off the picture."""
    return {
        row.get_gid(): [
            (path.vertices[:, 0].min(), path.vertices[:, 0].max())
            for path in row.get_paths()
        ]
        for row in ax.collections
    }


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_spans_are_bars_over_what_is_finished(ax):
    assert interval_map(snapshot(3.0), ax) is ax
    assert parts(ax) == {
        "finished": [(0, 1)],
        "leased": [(0.25, 0.5)],
        "waiting": [(0.75, 1)],
    }
    assert legend(ax) == ["finished", "leased (2 units)", "waiting (1 unit)"]
    assert ax.get_title("left") == "joinery: 37.50 % of n! finished after 3 s"
    assert "n! permutations" in ax.get_xlabel()


def test_what_is_almost_finished_after_hours_is_told_as_that(ax):
    interval_map(snapshot(36_000.0, explored=0.9999999), ax)
    assert ax.get_title("left") == "joinery: 99.9999 % of n! finished after 10 h"


def test_a_checkpoint_shows_its_units(ax):
    interval_map(checkpoint(), ax)
    assert parts(ax) == {
        "finished": [(0, 1)],
        "leased": [(0.25, 0.5)],
        "waiting": [(0.75, 1)],
    }
    assert legend(ax) == ["finished", "begun (1 unit)", "waiting (1 unit)"]
    assert "50.00 % of n! finished" in ax.get_title("left")


def test_snapshots_are_rows_in_time(ax):
    shots = [snapshot(0.0, spans=((0.0, 1.0, "waiting"),)), snapshot(2.0)]
    interval_map(shots, ax)
    (mesh,) = (part for part in ax.collections if isinstance(part, QuadMesh))
    cells = np.asarray(mesh.get_array()).reshape(2, N_CELLS)
    assert np.array_equal(cells, [states_of(shot.spans) for shot in shots])
    assert ax.get_ylabel() == "time (s)"
    assert ax.get_ylim() == (0, 4)
    assert legend(ax) == ["finished", "leased", "waiting"]


def test_snapshots_of_one_moment_are_drawn(ax):
    interval_map([snapshot(1.0), snapshot(1.0)], ax)


def test_no_snapshots_are_refused():
    with pytest.raises(DpbbError, match="expected snapshots, got none"):
        interval_map([])
