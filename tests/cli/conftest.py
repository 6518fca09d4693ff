"""The command line in this process, as tests call it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dpbb.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def dpbb(capsys):
    """Run ``dpbb`` with some arguments; gives exit code, stdout and stderr."""

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
        return Ran(code, *capsys.readouterr())

    return run
