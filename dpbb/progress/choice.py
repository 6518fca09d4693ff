"""Choose how progress is shown: as suits the terminal, notebook or file."""

import os
import sys
from typing import TextIO

from dpbb.errors import OptionError
from dpbb.options import ProgressStyle
from dpbb.progress.base import Progress
from dpbb.progress.json_lines import JsonLines
from dpbb.progress.rows import ProgressPrinter

DUMB = ("", "dumb", "unknown")


def make_progress(
    style: ProgressStyle = ProgressStyle.AUTO,
    *,
    interval_s: float = 1.0,
    stream: TextIO | None = None,
) -> Progress:
    """Make what shows a run.

    Parameters
    ----------
    style
        How; ``auto`` is a live view in a notebook and on a terminal that can show one,
        and rows elsewhere.
    interval_s
        Least seconds between rows or lines.

    Raises
    ------
    OptionError
        A live view is asked for where there is none.
    """
    out = sys.stderr if stream is None else stream
    term = os.environ.get("TERM", "")
    if style is ProgressStyle.NONE:
        return Progress()
    if style is ProgressStyle.JSON:
        return JsonLines(out, interval_s)
    if style is not ProgressStyle.PLAIN:
        if in_notebook():
            from dpbb.progress.notebook import NotebookProgress

            return NotebookProgress()
        if _is_terminal(out) and term not in DUMB:
            from dpbb.progress.live import LiveProgress

            return LiveProgress(out)
    if style is ProgressStyle.LIVE:
        raise OptionError(
            "progress: expected a terminal or a notebook for live, got a stream that "
            f"is none (TERM={term!r})"
        )
    return ProgressPrinter(out, interval_s, width=width_of(out))


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook, JupyterLab's or VS Code's."""
    module = sys.modules.get("IPython")  # it is imported in every kernel
    shell = None if module is None else module.get_ipython()
    # IPython in a terminal has a shell without a kernel.
    return getattr(shell, "kernel", None) is not None


def _is_terminal(stream: TextIO) -> bool:
    """Whether somebody looks at the stream."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no file, or a closed one
        return False


def width_of(stream: TextIO) -> int | None:
    """Return the columns of a terminal; None for anything else."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None
    except (AttributeError, OSError, ValueError):
        return None
