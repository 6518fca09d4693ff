"""``python -m dpbb`` and ``dpbb``: the command line."""

import os
import sys
import threading

from dpbb.cli import main


def run() -> None:
    """Run a command and end the process with its exit code."""
    code = main()
    if any(one.name == "dpbb-loading" for one in threading.enumerate()):
        # a compiler is at work, which crashes when the interpreter is torn down
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run()
