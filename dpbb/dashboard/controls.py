"""Run picker and buttons. What a button does is checked and done on the server."""

import asyncio
import hmac
import logging
import shlex
from concurrent.futures import Future
from html import escape
from typing import Any

from bokeh.models import (
    Button,
    ColumnDataSource,
    CustomJS,
    Div,
    InlineStyleSheet,
    Select,
)

from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.dashboard.feed import Controls, Feed, RunView
from dpbb.dashboard.look import asset
from dpbb.errors import DpbbError
from dpbb.progress.words import state_word
from dpbb.text.names import middle

logger = logging.getLogger(__name__)

# The key lies in the page, not in the document: see ``Controls.key``. The run that is
# acted on is the one that the question names, whatever is picked meanwhile.
_COMMAND = """
const run = asked.data.run[0];
const question = asked.data[action][0];
if (!run || (question && !window.confirm(question))) return;
// without the time the same command once more would be no change of the data
commands.data = {action: [action], key: [window.dpbbKey || ""], run: [run],
  at: [Date.now()]};
"""

_STYLE = """
:host { color: var(--muted); font: 12px/1.3 Helvetica, Arial, sans-serif; }
.bad { color: var(--bad); }
"""

NAME_WIDTH = 22
"""Characters of an instance's name that fit beside the state and the run's name."""


class Picker:
    """Which run is shown: the newest until one goes on, then that one.

    A viewer who picks another one, or whose address names one, stays with it.

    Parameters
    ----------
    run_id
        The one that the address of the page names; None if it names none.

    Attributes
    ----------
    held
        Whether the page stays with the run that it shows.
    missing
        Name of the run that the viewer wants and nobody knows; empty if there is none.
    """

    def __init__(self, feed: Feed, run_id: str | None) -> None:
        self._feed = feed
        self._followed: str | None = None
        self.held = run_id is not None
        self.missing = ""
        self.root = Select(
            title="",
            value=run_id or "",
            options=[],
            width=330,
            max_width=330,
            sizing_mode="stretch_width",
            stylesheets=[InlineStyleSheet(css=asset("fields.css"))],
        )
        self.root.on_change("value", self._changed)

    @property
    def run_id(self) -> str:
        """The run to show; empty if there is none."""
        return str(self.root.value)

    def _changed(self, _name: str, _old: str, new: str) -> None:
        self.held |= new != self._followed

    def refresh(self) -> list[RunView]:
        """Look which runs there are; return them, the newest first."""
        views = [self._feed.view(run_id) for run_id in self._feed.run_ids()]
        known = [view for view in reversed(views) if view is not None]
        if not self.held and known:
            going = [view for view in known if view.snapshot.state in _GOES_ON]
            shown = (going or known)[0].snapshot.run_id
            self._followed = shown  # before the value, whose change is no pick
            self.root.value = shown
            self.held = bool(going)
        names = [view.snapshot.run_id for view in known]
        self.missing = self.run_id if self.held and self.run_id not in names else ""
        options = [_option(view.snapshot) for view in known]
        if self.missing:
            options.insert(0, (self.missing, f"{middle(self.missing, 30)} · not here"))
        if options != self.root.options:
            self.root.options = options
        return known


_GOES_ON = (RunState.RUNNING, RunState.STOPPING)


def _option(snapshot: Snapshot) -> tuple[str, str]:
    name = middle(snapshot.instance or "unnamed", NAME_WIDTH)
    return snapshot.run_id, f"{name} · {state_word(snapshot)} · {snapshot.run_id}"


class Buttons:
    """Stop and save, with what came of them."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._tasks: set[Future[None]] = set()
        self._message = ""
        self._about = ""  # the run that the message is about
        self._bad = False
        commands = ColumnDataSource({"action": [], "key": [], "run": [], "at": []})
        commands.on_change("data", self._command)
        self._commands = commands

        # the run that is shown, and what the viewer is asked before each action
        self._asked = ColumnDataSource({"run": [""], "stop": [""], "save": [""]})

        def button(action: str, label: str) -> Any:
            made = Button(
                label=label,
                width=100,
                disabled=True,  # until there is a run
                stylesheets=[InlineStyleSheet(css=asset("fields.css"))],
            )
            args = {"commands": commands, "asked": self._asked, "action": action}
            made.js_on_click(CustomJS(args=args, code=_COMMAND))
            return made

        self.save = button("save", "Save now")
        self.stop = button("stop", "Stop run")
        sheet = InlineStyleSheet(css=_STYLE)
        # empty, it takes no line on a phone
        self.message = Div(text="", visible=False, stylesheets=[sheet])

    def update(self, view: RunView) -> None:
        """Enable what can be done to a run."""
        snapshot, refused = view.snapshot, self._controls.refused
        asked = {"run": [snapshot.run_id], "stop": [_question(snapshot)], "save": [""]}
        _set(self._asked, "data", asked)
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
        _set(self.message, "visible", bool(text))

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
            # Bokeh calls from a thread of its own, from 3.10 on
            task = asyncio.run_coroutine_threadsafe(
                self._act(action, run_id), self._controls.loop
            )
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


def _question(snapshot: Snapshot) -> str:
    """Ask before a run is stopped: which one it is, and what is lost."""
    name = f"{snapshot.instance or 'unnamed'} ({snapshot.run_id})"
    saved = snapshot.checkpoint
    if saved is None:
        return (
            f"Stop {name}? It writes no checkpoints, so it cannot go on later; its "
            "best schedule stays."
        )
    folder = shlex.quote(saved.url)
    return f"Stop {name}? `dpbb resume {folder}` goes on from its last checkpoint."


def _set(model: Any, name: str, value: object) -> None:
    if getattr(model, name) != value:
        setattr(model, name, value)
