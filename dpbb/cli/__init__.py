"""The command line.

A command is a pair of functions, ``add_NAME(parser)`` for its arguments and
``run_NAME(args)``, which returns the exit code, in a module of this package. A suite of
``dpbb bench`` is a module of ``dpbb.bench`` with ``add_arguments`` and ``run``. Only
the module that is asked for is imported.
"""

import argparse
import atexit
import gc
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import dpbb
from dpbb.bench import SUITES
from dpbb.cli.output import checked_stdout, silence
from dpbb.errors import (
    CheckpointError,
    DpbbError,
    InstanceError,
    OptionError,
    SchedulerLostError,
)
from dpbb.options.kinds import nearest
from dpbb.text.files import noting

EXIT_ERROR = 1
EXIT_BAD_INPUT = 2
EXIT_SCHEDULER_LOST = 5
EXIT_INTERRUPTED = 130

COMMANDS = {
    "solve": "find and prove an optimal schedule",
    "resume": "go on from a checkpoint, on any cluster",
    "submit": "start a run on a cluster, and leave it to itself",
    "slurm": "solve by a SLURM job that queues itself again until the proof",
    "list": "runs of a cluster",
    "attach": "follow a run of a cluster to its end",
    "stop": "stop a run of a cluster",
    "save": "write the state of a run into a file, or a checkpoint into its folder",
    "verify": "check the certificate of a proof",
    "estimate": "how many nodes a tree has, and how long they take",
    "heuristic": "a good schedule in a given time, without a tree",
    "info": "what was read, root bounds and best-known makespan",
    "template": "write a workbook to fill in",
    "help": "how tables are read: dpbb help tables",
    "evaluate": "makespan and schedule of a given order",
    "jobshop": "job shops: exact costs of solutions, what is known of an instance",
    "data": "what a folder of benchmark files holds",
    "plot": "pictures: schedule, convergence, search space, speed-up",
    "check": "check the laws of a model of your own",
    "engines": "which engines can run here, and why not",
    "campaign": "prove a set of instances, with records",
    "report": "what came out of runs and campaigns: tables, plots, a page",
    "bench": "benchmarks: counts checked, nodes a second",
}
"""Commands and what they do, for the help."""

MODULES = {
    **dict.fromkeys(("solve", "resume", "slurm", "heuristic", "estimate"), "search"),
    **dict.fromkeys(("submit", "list", "attach", "stop", "save"), "runs"),
    **dict.fromkeys(("info", "evaluate", "data", "engines"), "instances"),
    **dict.fromkeys(("template", "help"), "instances"),
    "report": "campaign",
}
"""Modules of commands that are not called as their command is."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Fills paragraphs; lines that begin with spaces stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = re.sub(r"(?m)^(\S.*)\n(?=\S)", r"\1 ", text).splitlines()
        return "\n".join(textwrap.fill(line, min(width, 86)) for line in lines)


class Once(argparse.Action):
    """Keeps a value; of one option two would be one too many."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """See ``argparse.Action``."""
        if option_string is not None and self.given:
            raise argparse.ArgumentError(self, "expected it once, got it twice")
        self.given = True
        setattr(namespace, self.dest, values)

    given = False


class Parser(argparse.ArgumentParser):
    """A parser whose options are given once, where they are no lists, and in full."""

    def __init__(self, **how: Any) -> None:
        how = {"formatter_class": Help, "allow_abbrev": False, **how}
        super().__init__(**how)
        self.register("action", None, Once)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns the exit code; see ``dpbb solve --help``.
    """
    if arguments is None:
        # Python's last collection goes through all of Numba: 0.3 s for nothing.
        atexit.register(gc.freeze)
    try:
        with checked_stdout(), noting():
            args = _parse(sys.argv[1:] if arguments is None else list(arguments))
            return int(args.run(args))
    except DpbbError as error:
        print(f"dpbb: error: {error}", file=sys.stderr)
        if isinstance(error, (InstanceError, OptionError, CheckpointError)):
            return EXIT_BAD_INPUT
        lost = isinstance(error, SchedulerLostError)
        return EXIT_SCHEDULER_LOST if lost else EXIT_ERROR
    except BrokenPipeError:
        silence()  # whoever read our output is gone
        return EXIT_ERROR
    except OSError as error:  # what may not be read, or has no room to be written
        what = error.filename or type(error).__name__
        print(f"dpbb: error: {what}: {error.strerror or error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("dpbb: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments; exits with code 2 if they are wrong."""
    parser = Parser(
        prog="dpbb", description="Proves optimal schedules of permutation flow shops."
    )
    parser.add_argument("--version", action="version", version=dpbb.__version__)
    _add_commands(parser, COMMANDS, arguments)
    args, unknown = parser.parse_known_args(arguments)
    for argument in unknown:
        # what has commands has few options of its own
        early = argument.startswith("-") and not hasattr(args, "run")
        what = "the command first" if early else "a known argument"
        known = args.parser._option_string_actions
        flags = [flag for flag in known if flag.startswith("--")]
        none = argument.startswith("--no-buffer")
        hint = nearest("--blocking" if none else argument.partition("=")[0], flags)
        parser.error(
            f"{argument}: expected {what}{hint}; see {args.parser.prog} --help"
        )
    return args


def _add_commands(
    parser: argparse.ArgumentParser, table: Mapping[str, str], arguments: Sequence[str]
) -> None:
    """Add the commands of a table, and what the one asked for takes."""
    what = "suite" if table is SUITES else "command"
    parser.set_defaults(parser=parser)
    commands = parser.add_subparsers(
        title=f"{what}s", required=True, metavar=what.upper()
    )
    for name, help_text in table.items():
        sub = commands.add_parser(name, help=help_text, description=help_text)
        if list(arguments[:1]) != [name]:
            continue
        if name == "bench":
            _add_commands(sub, SUITES, arguments[1:])
        elif table is SUITES:
            suite = import_module(f"dpbb.bench.{name}")
            suite.add_arguments(sub)
            sub.set_defaults(run=suite.run, parser=sub)
        else:
            module = import_module(f"dpbb.cli.{MODULES.get(name, name)}")
            getattr(module, f"add_{name}")(sub)
            sub.set_defaults(run=getattr(module, f"run_{name}"), parser=sub)
