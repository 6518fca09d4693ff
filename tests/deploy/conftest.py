"""What tests of scripts share."""

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder at the front of the PATH; call it to put a bash script in."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = [str(folder), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(path))

    def put(name, text):
        file = folder / name
        file.write_text(f"#!/usr/bin/env bash\n{text}\n")
        file.chmod(0o755)

    return put
