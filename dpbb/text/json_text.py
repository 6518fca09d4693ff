"""JSON as every reader takes it: Python's own writes ``NaN`` and ``Infinity``, too."""

import json
import math
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any


def json_text(values: Any, *, indent: int | None = None) -> str:
    """Write JSON; numbers that are not finite are null, dataclasses objects."""
    try:
        return json.dumps(values, indent=indent, allow_nan=False, default=_plain)
    except ValueError:
        pass  # looking for them takes longer than to write
    return json.dumps(_finite(values), indent=indent, allow_nan=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    plain = value is None or isinstance(value, (str, int))
    return value if plain else _finite(_plain(value))
