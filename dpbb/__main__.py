"""``python -m dpbb`` and ``dpbb``: the command line."""

import contextlib
import os
import sys
import threading

from dpbb.cli import main


def run() -> None:
    """Run a command and end the process with its exit code."""
    code = main()
    left = [one.name for one in threading.enumerate() if one.daemon]
    if any(name.startswith("dpbb-") for name in left):
        # a compiler or kernel is at work, which crashes when the process is torn down
        for stream in sys.stdout, sys.stderr:
            with contextlib.suppress(AttributeError, OSError):  # None: closed
                stream.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run()
