"""Progress of a run for people and programs, from snapshots alone.

One seam, ``Progress``, with four faces: rows (``rows``), a live view of a terminal
(``live``), JSON lines (``json_lines``) and the output of a notebook's cell
(``notebook``). ``make_progress`` chooses. Local, resumed and attached runs look the
same, as all that is shown comes from snapshots.
"""

from dpbb.progress.base import Progress as Progress
from dpbb.progress.base import show as show
from dpbb.progress.choice import make_progress as make_progress
from dpbb.progress.json_lines import JsonLines as JsonLines
from dpbb.progress.json_lines import snapshot_json as snapshot_json
from dpbb.progress.rows import ProgressPrinter as ProgressPrinter
from dpbb.progress.words import format_count as format_count
from dpbb.progress.words import format_seconds as format_seconds
