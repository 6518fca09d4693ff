"""How a module of dpbb is run in a process of its own: never from where it stands.

``python -m`` puts the working directory before everything else, so a file ``json.py``
or ``html.py`` that happens to lie there would be executed.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

_CODE = """\
import os, runpy, sys
more = sys.argv.pop(1).split(os.pathsep)
sys.path += [path for path in more if path not in sys.path]
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)"""


def command_of(
    module: str, *arguments: str, paths: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the command that runs a module.

    Parameters
    ----------
    module, *arguments
        As of ``python -m``.
    paths
        Where else it finds modules: after all others, so that they replace none.
    """
    here = str(Path(__file__).parents[1])  # dpbb may not be installed
    more = os.pathsep.join([here, *(os.path.abspath(path) for path in paths)])
    return (sys.executable, "-P", "-c", _CODE, more, module, *arguments)
