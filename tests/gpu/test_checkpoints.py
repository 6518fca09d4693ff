"""Checkpoints of a GPU: few open roots, few bytes, and no root of the tree is lost."""

import argparse
import json

import pytest

from tests.worlds.checkpoints import suite

pytestmark = pytest.mark.gpu

MOST_BYTES = 4_000_000


def test_a_large_tree_is_saved_in_few_bytes(gpu, tmp_path):
    parser = argparse.ArgumentParser()
    suite.add_arguments(parser)
    file = tmp_path / "rows.json"
    words = "--seconds 3 --instances ta056@3679 --json"
    assert suite.run(parser.parse_args([*words.split(), str(file)])) == 0
    (row,) = json.loads(file.read_text())
    assert 0 < row["saved_roots"] <= row["open_roots"]
    assert row["n_bytes"] < MOST_BYTES
