"""``dpbb plot``."""

import argparse
import io
import os
from pathlib import Path
from typing import Any

from dpbb.errors import DpbbError, InstanceError, OptionError
from dpbb.result.written import PICTURES
from dpbb.text.files import check_writable, known_suffix

SUFFIXES = (*PICTURES, ".html")
KINDS = ("gantt", "convergence", "intervals", "speedup")

EPILOG = """\
FILE, and what can be drawn of it (the first is the default):
  dpbb solve --json           gantt, convergence
  dpbb solve --output         gantt (the schedule as CSV)
  dpbb solve --log-json       convergence
  a checkpoint                intervals, convergence, gantt (of the incumbent)
  dpbb bench multigpu --json  speedup
With --output NAME.html a gantt is a page that tells under the pointer what each bar
is. All others need Matplotlib: pip install 'dpbb[plot]'."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file, the kind and the picture."""
    parser.add_argument("file", metavar="FILE", help="what to draw; see below")
    parser.add_argument("--kind", choices=KINDS, help="what to draw of it")
    parser.add_argument(
        "--output",
        metavar="PICTURE",
        required=True,
        help=f"where to write it; the suffix says how: {', '.join(SUFFIXES)}",
    )
    parser.add_argument(
        "--size",
        nargs=2,
        type=float,
        metavar=("W", "H"),
        help="width and height in inches (default: what suits the data)",
    )
    parser.add_argument(
        "--dpi", type=int, default=150, help="pixels an inch, of .png (default: 150)"
    )
    parser.add_argument(
        "--linear-time", action="store_true", help="convergence: no logarithmic time"
    )
    parser.add_argument(
        "--no-critical-path", action="store_true", help="gantt: do not mark one"
    )
    group = parser.add_argument_group(
        "instance, for a saved result without its schedule"
    )
    group.add_argument("--instance", metavar="INSTANCE", help="as of dpbb solve")
    group.add_argument("--index", type=int, metavar="N")
    group.add_argument("--orientation", metavar="ROWS")
    group.add_argument("--data", metavar="FOLDER")


def run(args: argparse.Namespace) -> int:
    """Draw a plot into a file."""
    output = _output(args)
    try:
        return _draw(args, output)
    except (InstanceError, OptionError):
        raise
    except DpbbError as error:  # whatever it is, the file is not as it has to be
        raise OptionError(f"FILE: {args.file}: {error}") from error


def _draw(args: argparse.Namespace, output: Path) -> int:
    from dpbb.cli.plot_files import plot_data, read_plotted

    found = read_plotted(args.file)
    kind = args.kind or found.kinds[0]
    check_writable(output, "--output")
    how: dict[str, Any] = {}
    for flag, only, name, value in (
        ("--linear-time", "convergence", "log_time", False),
        ("--no-critical-path", "gantt", "critical", False),
    ):
        if not getattr(args, flag[2:].replace("-", "_")):
            continue
        if kind != only:
            raise OptionError(f"{flag}: expected with --kind {only}, got {kind}")
        how[name] = value
    data = plot_data(found, kind, args)
    form = output.suffix[1:].lower()
    if form == "html":
        if kind != "gantt":
            raise OptionError(f"--output: expected .html for a gantt, not {kind}")
        from dpbb.plotting.gantt_chart import gantt_html

        content = gantt_html(data, **how).encode()
    else:
        from dpbb.plotting.drawing import figure_of

        figure = figure_of(data, kind, size=args.size and tuple(args.size), **how)
        picture = io.BytesIO()
        figure.savefig(picture, dpi=args.dpi, format=form)
        content = picture.getvalue()
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        try:
            beside.write_bytes(content)
            beside.replace(output)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise OptionError(
            f"--output: expected a file that can be written, got {output}: "
            f"{error.strerror or error}"
        ) from error
    return 0


def _output(args: argparse.Namespace) -> Path:
    """Check what would else fail after the work."""
    known_suffix(args.output, "--output", SUFFIXES)
    if args.size is not None and not all(1 <= inches <= 100 for inches in args.size):
        raise OptionError(f"--size: expected 1 to 100 inches, got {args.size}")
    if not 10 <= args.dpi <= 1200:
        raise OptionError(f"--dpi: expected 10 to 1200, got {args.dpi}")
    return Path(args.output)
