"""Run picker and buttons. What a button does is checked and done on the server."""

import asyncio
import hmac
import logging
import shlex
from concurrent.futures import Future
from typing import Any

from bokeh.models import Button, ColumnDataSource, CustomJS, InlineStyleSheet, Select

from dpbb.coordination.snapshot import RunState, Snapshot
from dpbb.dashboard.charts import empty, show
from dpbb.dashboard.feed import RunView
from dpbb.dashboard.look import Look, asset
from dpbb.dashboard.panels import Panel, html
from dpbb.errors import DpbbError
from dpbb.progress.words import goes_on, state_word
from dpbb.text.names import middle

logger = logging.getLogger(__name__)

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

    def __init__(self, feed: Any, run_id: str | None) -> None:
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
            going = [view for view in known if goes_on(view.snapshot)]
            shown = (going or known)[0].snapshot.run_id
            self._followed = shown  # before the value, whose change is no pick
            self.root.value = shown
            self.held = bool(going)
        names = [view.snapshot.run_id for view in known]
        self.missing = self.run_id if self.held and self.run_id not in names else ""
        options = [_option(view.snapshot) for view in known]
        if self.missing:
            options.insert(0, (self.missing, f"{middle(self.missing, 30)} · not here"))
        self.root.options = options
        return known


def _option(snapshot: Snapshot) -> tuple[str, str]:
    name = middle(snapshot.instance or "unnamed", NAME_WIDTH)
    return snapshot.run_id, f"{name} · {state_word(snapshot)} · {snapshot.run_id}"


class Buttons:
    """Stop and save, with what came of them."""

    def __init__(self, look: Look, controls: Any) -> None:
        self._controls = controls
        self._tasks: set[Future[None]] = set()
        self._said = ("", "", "")  # the run that it is about, its class, and a text
        self._commands = empty("action", "key", "run", "at")
        self._commands.on_change("data", self._command)
        # the run that is shown, and what the viewer is asked before each action
        self._asked = ColumnDataSource({"run": [""], "stop": [""], "save": [""]})
        self.save = self._button("save", "Save now")
        self.stop = self._button("stop", "Stop run")
        self.message = Panel(look, hides=True)  # empty, it takes no line on a phone

    def _button(self, action: str, label: str) -> Any:
        button = Button(
            label=label,
            width=100,
            disabled=True,  # until there is a run
            stylesheets=[InlineStyleSheet(css=asset("fields.css"))],
        )
        args = {"commands": self._commands, "asked": self._asked, "action": action}
        button.js_on_click(CustomJS(args=args, code=asset("command.js")))
        return button

    def update(self, view: RunView) -> None:
        """Enable what can be done to a run."""
        snapshot, refused = view.snapshot, self._controls.refused
        show(self._asked, run=[snapshot.run_id], stop=[_question(snapshot)], save=[""])
        running = snapshot.state is RunState.RUNNING
        can_save = running and snapshot.checkpoint is not None and not self._tasks
        self.stop.disabled = refused is not None or not running
        self.save.disabled = refused is not None or not can_save
        about, kind, text = self._said
        if about != snapshot.run_id or not text:
            kind, text = "", f"Controls are off: {refused}" if refused else ""
        self.message.show(html("message", kind, text) if text else "")

    def _command(self, _name: str, _old: object, new: dict[str, list[str]]) -> None:
        """Act on a click; do not trust its content, which anyone can make up."""
        try:
            action, key, run_id = (
                str(new[name][0]) for name in ("action", "key", "run")
            )
        except (KeyError, IndexError, TypeError):
            return
        if self._controls.refused is not None:
            self._said = run_id, "bad", f"Refused: {self._controls.refused}"
        elif not hmac.compare_digest(key.encode(), self._controls.key.encode()):
            self._said = run_id, "bad", "Refused: reload the page and try again"
        elif action in ("stop", "save"):
            # Bokeh calls from a thread of its own, from 3.10 on
            task = asyncio.run_coroutine_threadsafe(
                self._act(action, run_id), self._controls.loop
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _act(self, action: str, run_id: str) -> None:
        """Do it, and say what came of it with the next update.

        That holds the document's lock; another run may have been acted on meanwhile.
        """
        stop = action == "stop"
        self._said = run_id, "", "Stopping …" if stop else "Saving …"
        kind = "bad"
        try:
            done = self._controls.stop if stop else self._controls.save
            text, kind = await done(run_id), ""
        except (DpbbError, OSError) as error:
            text = str(error)
        except Exception as error:
            logger.exception("%s of run %s failed", action, run_id)
            text = f"{type(error).__name__}: {error}"
        if self._said[0] == run_id:
            self._said = run_id, kind, text


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
