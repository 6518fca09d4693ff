"""JSON as every reader takes it: Python's own writes ``NaN`` and ``Infinity``, too."""

from typing import Any

import msgspec


def json_text(values: Any, *, indent: int | None = None) -> str:
    """Write JSON; numbers that are not finite are null, dataclasses objects."""
    text = msgspec.json.encode(values, enc_hook=_plain)
    return msgspec.json.format(text, indent=indent or 0).decode()


def _plain(value: Any) -> Any:
    if isinstance(value, float):  # one of NumPy's
        return float(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
