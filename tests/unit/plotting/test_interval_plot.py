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


def test_a_checkpoint_shows_its_units(ax):
    interval_map(checkpoint(), ax)
    assert parts(ax) == {
        "finished": [(0, 1)],
        "leased": [(0.25, 0.5)],
        "waiting": [(0.75, 1)],
    }
    assert legend(ax) == ["finished", "begun (1 unit)", "waiting (1 unit)"]
    assert "50.00 % of n! finished" in ax.get_title("left")
