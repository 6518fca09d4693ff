"""Run picker and buttons. What a button does is checked and done on the server."""

from __future__ import annotations

import asyncio
import hmac
import logging
from html import escape
from typing import TYPE_CHECKING, Any

from bokeh.models import (
    Button,
    ColumnDataSource,
    CustomJS,
    Div,
    InlineStyleSheet,
    Select,
)

from dpbb.coordination.snapshot import RunState
from dpbb.errors import DpbbError
from dpbb.text.names import middle

if TYPE_CHECKING:
    from dpbb.dashboard.feed import Controls, Feed, RunView

logger = logging.getLogger(__name__)

# The key lies in the page, not in the document: see ``Controls.key``.
_COMMAND = """
if (question && !window.confirm(question)) return;
// without the time the same command once more would be no change of the data
commands.data = {action: [action], key: [window.dpbbKey || ""], run: [picker.value],
  at: [Date.now()]};
"""

_STYLE = """
:host { color: var(--muted); font: 12px/1.3 Helvetica, Arial, sans-serif; }
.bad { color: var(--bad); }
"""

_FIELD = """
.bk-input, .bk-btn { font-size: 13px; height: 28px; padding: 0 10px;
  background: var(--card); color: var(--text); border: 1px solid var(--line); }
select.bk-input:not([multiple]) { appearance: none; padding-right: 26px;
  background-image: linear-gradient(45deg, transparent 50%, currentColor 50%),
    linear-gradient(-45deg, transparent 50%, currentColor 50%);
  background-size: 5px 5px; background-repeat: no-repeat;
  background-position: right 15px center, right 10px center; }
.bk-btn:hover:not([disabled]) { border-color: var(--text); }
.bk-btn[disabled], .bk-btn[disabled]:hover { background: var(--card) !important;
  color: var(--muted) !important; opacity: 0.55; }
"""


NAME_WIDTH = 22
"""Characters of an instance's name that fit beside the state and the run's name."""


class Picker:
    """Which run is shown: the newest, until the viewer picks one."""

    def __init__(self, feed: Feed, run_id: str | None) -> None:
        self._feed = feed
        self._followed: str | None = None
        self.picked = run_id is not None
        self.root = Select(
            title="",
            value=run_id or "",
            options=[],
            width=330,
            stylesheets=[InlineStyleSheet(css=_FIELD)],
        )
        self.root.on_change("value", self._changed)

    @property
    def run_id(self) -> str:
        """The run to show; empty if there is none."""
        return str(self.root.value)

    def _changed(self, _name: str, _old: str, new: str) -> None:
        self.picked = new != self._followed

    def refresh(self) -> None:
        """Look which runs there are."""
        views = [self._feed.view(run_id) for run_id in self._feed.run_ids()]
        options = [_option(view) for view in reversed(views) if view is not None]
        if options != self.root.options:
            self.root.options = options
        known = [run_id for run_id, _ in options]
        if self.run_id not in known:
            self.picked = False
        if not self.picked and known:
            self._followed = known[0]
            self.root.value = known[0]


def _option(view: RunView) -> tuple[str, str]:
    snapshot = view.snapshot
    name = middle(snapshot.instance or "unnamed", NAME_WIDTH)
    return snapshot.run_id, f"{name} · {snapshot.state.value} · {snapshot.run_id}"


class Buttons:
    """Stop and save, with what came of them."""

    def __init__(self, controls: Controls, picker: Picker) -> None:
        self._controls = controls
        self._tasks: set[asyncio.Task[None]] = set()
        self._message = ""
        self._about = ""  # the run that the message is about
        self._bad = False
        commands = ColumnDataSource({"action": [], "key": [], "run": [], "at": []})
        commands.on_change("data", self._command)
        self._commands = commands

        def button(action: str, label: str, question: str) -> Any:  # noqa: ANN401
            made = Button(
                label=label,
                width=100,
                disabled=True,  # until there is a run
                stylesheets=[InlineStyleSheet(css=_FIELD)],
            )
            args = {
                "commands": commands,
                "picker": picker.root,
                "action": action,
                "question": question,
            }
            made.js_on_click(CustomJS(args=args, code=_COMMAND))
            return made

        self.save = button("save", "Save now", "")
        self.stop = button("stop", "Stop run", "Stop this run? It can not be undone.")
        self.message = Div(text="", stylesheets=[InlineStyleSheet(css=_STYLE)])

    def update(self, view: RunView) -> None:
        """Enable what can be done to a run."""
        snapshot, refused = view.snapshot, self._controls.refused
        running = snapshot.state is RunState.RUNNING
        saved = snapshot.checkpoint
        can_save = running and saved is not None and not self._tasks
        _set(self.stop, "disabled", refused is not None or not running)
        _set(self.save, "disabled", refused is not None or not can_save)
        text, bad = "", False
        if snapshot.run_id == self._about:
            text, bad = self._message, self._bad
        if not text and refused is not None:
            text = f"Controls are off: {refused}"
        css = ' class="bad"' if bad else ""
        _set(self.message, "text", f"<span{css}>{escape(text)}</span>" if text else "")

    def _command(self, _name: str, _old: object, new: dict[str, list[str]]) -> None:
        """Act on a click; do not trust its content, which anyone can make up."""
        try:
            action, key, run_id = (
                str(new[name][0]) for name in ("action", "key", "run")
            )
        except (KeyError, IndexError, TypeError):
            return
        self._about = run_id
        if self._controls.refused is not None:
            self._say(f"Refused: {self._controls.refused}", bad=True)
        elif not hmac.compare_digest(key.encode(), self._controls.key.encode()):
            self._say("Refused: reload the page and try again", bad=True)
        elif action in ("stop", "save"):
            task = asyncio.get_running_loop().create_task(self._act(action, run_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _act(self, action: str, run_id: str) -> None:
        stop = action == "stop"
        self._say("Stopping …" if stop else "Saving …")
        bad = True
        try:
            done = self._controls.stop if stop else self._controls.save
            text, bad = await done(run_id), False
        except (DpbbError, OSError) as error:
            text = str(error)
        except Exception as error:
            logger.exception("%s of run %s failed", action, run_id)
            text = f"{type(error).__name__}: {error}"
        if self._about == run_id:  # or else another run was acted on meanwhile
            self._say(text, bad=bad)

    def _say(self, text: str, *, bad: bool = False) -> None:
        # shown by the next update, which holds the document's lock
        self._message, self._bad = text, bad


def _set(model: Any, name: str, value: object) -> None:  # noqa: ANN401
    if getattr(model, name) != value:
        setattr(model, name, value)
