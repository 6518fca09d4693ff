"""Code that was generated of model texts, in a folder of the user's cache.

A package whose modules lie there, so that they have names: Numba keeps compiled code by
the name of a module, and another process finds it by that.
"""

import os
import tempfile
from functools import cache
from pathlib import Path


@cache
def folder() -> Path:
    """Folder of generated code: the user's cache, or one of this process alone."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    found = Path(home) / "dpbb" / "models"
    try:
        found.mkdir(parents=True, exist_ok=True)
        if os.access(found, os.W_OK):
            return found
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="dpbb-models-"))


def kept(name: str, file: str, text: str) -> Path:
    """Return the path of a file of this folder, written if it is not there."""
    path = folder() / name / file
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        Path(part).replace(path)
    return path


__path__.append(str(folder()))
