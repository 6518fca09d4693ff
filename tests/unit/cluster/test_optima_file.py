"""The file of optimal permutations."""

import numpy as np
import pytest

from dpbb.cluster.optima_file import OptimaFile
from dpbb.coordination.incumbent import Optima
from dpbb.errors import OptionError


def optima(value, *rows):
    return Optima(value, np.array(rows, np.uint16).reshape(len(rows), 3))


def test_better_value_starts_the_file_again(tmp_path):
    """What was optimal so far is not any more."""
    path = tmp_path / "optima.txt"
    path.write_text("old\n")
    file = OptimaFile(path)
    assert path.read_text() == ""
    file.write(optima(9, (0, 1, 2)))
    file.write(optima(9, (0, 2, 1), (2, 1, 0)))
    assert path.read_text() == "0 1 2\n0 2 1\n2 1 0\n"
    file.write(optima(8, (1, 0, 2)))
    file.write(optima(8))
    assert path.read_text() == "1 0 2\n"


def test_file_that_cannot_be_written_is_refused_at_once(tmp_path):
    """Not at the end of a long run."""
    with pytest.raises(OptionError, match="expected a file that can be written"):
        OptimaFile(tmp_path / "missing" / "optima.txt")
