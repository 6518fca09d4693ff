"""JSON as every reader takes it: Python's own writes ``NaN`` and ``Infinity``, too."""

from typing import Any

import msgspec


def json_text(values: Any, *, indent: int | None = None) -> str:
    """Write JSON; numbers that are not finite are null, dataclasses objects."""
    text = msgspec.json.encode(values, enc_hook=_plain)
    return msgspec.json.format(text, indent=indent or 0).decode()


def _plain(value: Any) -> Any:
    for kind in (str, int, float):  # of a class of its own, such as NumPy's
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
