"""Certificates: the books of a run, for others to check."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpbb.errors import OptionError
from dpbb.proof import checker
from dpbb.text.files import whole_file


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What a run proved, and how its books add up; plain values that JSON has."""

    content: dict[str, Any]

    def write(self, path: str | Path) -> None:
        """Write the certificate, compressed; DpbbError if that fails."""
        text = json.dumps(self.content, separators=(",", ":"))
        with whole_file(path):
            Path(path).write_bytes(gzip.compress(text.encode(), mtime=0))

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a certificate, unchecked.

        Raises
        ------
        OptionError
            No such file, or no certificate.
        """
        try:
            return cls(checker.read(str(path)))
        except (OSError, ValueError, MemoryError) as error:
            got = getattr(error, "strerror", None) or error or "too little memory"
            raise OptionError(f"{path}: expected a certificate, got: {got}") from error
