"""``python -m dpbb``: the command line."""

import sys

from dpbb.cli import main

if __name__ == "__main__":
    sys.exit(main())
