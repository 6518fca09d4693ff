"""Tables of one's own: ``dpbb template`` and ``dpbb help tables``."""

import argparse

from dpbb.cli import Parser, main
from dpbb.cli.arguments import add_rows, add_table
from dpbb.flowshop.template import write_template


def add_template(parser: argparse.ArgumentParser) -> None:
    """Add the file."""
    parser.epilog = """\
Sheet jobs: a row for each job, a column for each machine, and release, due and weight,
which may stay empty. Sheet setups: from each job to the next; empty if there are none.
Then: dpbb solve shop.xlsx, or with --objective weighted-tardiness"""
    add_rows(parser, {"file FILE": "workbook to write, such as shop.xlsx"})


def run_template(args: argparse.Namespace) -> int:
    """Write the workbook."""
    write_template(args.file)
    print(args.file)
    return 0


def add_help(parser: argparse.ArgumentParser) -> None:
    """Add the topic."""
    what = "tables: how they are read; or a command (default: all commands)"
    parser.add_argument("topic", nargs="?", help=what)


def run_help(args: argparse.Namespace) -> int:
    """Show how tables are read, or which commands there are."""
    if args.topic != "tables":
        return main([args.topic, "--help"] if args.topic else ["--help"])
    shown = Parser(
        usage="dpbb solve|heuristic|estimate|info|campaign [options] FILE.csv",
        add_help=False,
        epilog="""\
Lines of a title above the table are skipped. Columns release, due and weight are dates
and weights of the jobs. A sheet setups holds set-up times from each job (row) to the
next (column), in any order. dpbb info FILE shows what was understood. In Python:
dpbb.read_problem(FILE, table=dpbb.TableForm(sheet="Plan", scale=60))""",
    )
    add_table(shown, shown=True)
    print(shown.format_help(), end="")
    return 0
