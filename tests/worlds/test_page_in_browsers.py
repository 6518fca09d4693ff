"""What an open page costs, with real browsers."""

import json

import pytest

from tests.browser import support
from tests.worlds.__main__ import main

pytestmark = [
    pytest.mark.browser,
    pytest.mark.cluster,
    pytest.mark.timeout(600),
    pytest.mark.skipif(support.missing() is not None, reason=str(support.missing())),
]


@pytest.mark.slow(ci=True)
def test_pages_are_live_and_counts_exact(tmp_path, capsys):
    file = tmp_path / "record.json"
    options = ("--tree", "ta030", "--repeat", "1", "--workers", "1", "--json", file)
    assert main(["page", *map(str, options)]) == 0
    out = capsys.readouterr().out
    assert "decomposed, leaves: [(2797688, 43)]" in out
    without, with_pages = json.loads(file.read_text())["runs"]
    assert (without["pages"], without["frames"]) == (0, 0)
    assert with_pages["pages"] == 2
    assert with_pages["frames"] > 0
    assert with_pages["scheduler"] > 0
    assert with_pages["once"] > 0
