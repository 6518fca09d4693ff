"""What suites share: checks of their arguments, the file of what they found."""

import argparse
from pathlib import Path
from typing import Any

from dpbb.errors import OptionError
from dpbb.text.json_text import json_text


def check_counts(args: argparse.Namespace, *names: str) -> None:
    """Raise OptionError where one of these numbers, or lists of them, is below 1."""
    for name in names:
        given = getattr(args, name)
        least = min(given) if isinstance(given, list) else given
        if least < 1:
            flag = "--" + name.replace("_", "-")
            raise OptionError(f"{flag}: expected at least 1, got {least}")


def write_json(path: Path | None, content: Any) -> None:
    """Write what was found, if there is a file for it."""
    if path is not None:
        path.write_text(json_text(content))
