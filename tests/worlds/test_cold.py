"""A second after an installation, on a busy machine: NEH's quality or better."""

import pytest

from tests.worlds.__main__ import main


@pytest.mark.slow
def test_the_largest_instances_have_nehs_schedule_in_a_second(capsys):
    assert main(["cold", "--instances", "ta120", "ta111", "ta101"]) == 0
    assert "3 instances, 0 worse" in capsys.readouterr().out
