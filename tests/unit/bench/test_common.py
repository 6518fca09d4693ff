"""What the suites share."""

from dpbb.bench.common import differ


def test_counts_that_differ_are_told(capsys):
    assert not differ([("ta021", 5), ("ta021", 5), ("ta022", 6)])
    assert differ([("ta021", 5), ("ta022", 6), ("ta021", 6)])
    assert "ta021: different numbers of nodes: [5, 6]" in capsys.readouterr().out
