"""The file of optimal permutations, written by the client while the run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpbb.errors import OptionError

if TYPE_CHECKING:
    from pathlib import Path

    from dpbb.coordination.incumbent import Optima


class OptimaFile:
    """One permutation a line, jobs from 0, in the order of discovery.

    Starts again whenever a better value turns up: what was written before was not
    optimal then.

    Parameters
    ----------
    path
        Where to write; an existing file is replaced.

    Raises
    ------
    OptionError
        The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._value: int | None = None
        try:
            path.write_text("")
        except OSError as error:
            raise OptionError(
                f"optima_file: expected a file that can be written, got {path}: {error}"
            ) from error

    def write(self, optima: Optima) -> None:
        """Append permutations, or start again if they are better than before."""
        mode = "a" if optima.value == self._value else "w"
        self._value = optima.value
        with self.path.open(mode) as file:
            file.writelines(
                " ".join(map(str, row)) + "\n" for row in optima.permutations.tolist()
            )
