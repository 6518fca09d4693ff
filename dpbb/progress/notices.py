"""Who else is told of the end of a run, of its failure, and that it has no seats.

A command or a web address, from the present command line or from the scheduler's own
configuration alone: never from a run's options or a checkpoint, so that to resume what
somebody else has written executes nothing.
"""

import json
import logging
import os
import re
import shlex
import shutil
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

from dpbb.coordination.snapshot import Snapshot
from dpbb.errors import OptionError
from dpbb.progress.base import Progress
from dpbb.progress.words import goes_on, state_word
from dpbb.result import Result

logger = logging.getLogger(__name__)

PATIENCE_S = 30.0
"""A command, or a server, has so long."""

_OF_SHELL = re.compile(r"""[|<>&;`]|\d>|[^'"]*\$""")
"""How words begin that only a shell understands."""

FAILURES = (OSError, ValueError, HTTPException, subprocess.SubprocessError)
"""Of commands and of servers."""

END, FAILURE, NO_SEATS = "end", "failure", "no-seats"


class Notifier:
    """Tells a command or a web address of what happens.

    The command gets the facts as environment variables (``DPBB_EVENT``, ``DPBB_RUN``,
    ``DPBB_INSTANCE``, ``DPBB_STATE``, ``DPBB_VALUE``) and as one JSON object on its
    standard input, an address (``http://`` or ``https://``) gets the object by POST. No
    shell reads any of it: pipes and redirections need ``sh -c '...'``.

    ``target``: the command, quoted as for a shell, or the address; None: nobody.

    OptionError: it is neither, there is no such command, or it is meant for a shell.
    """

    def __init__(self, target: str | None) -> None:
        self._send = None if target is None else _sender(target)
        self._threads: list[threading.Thread] = []
        self._without_seats: set[str] = set()

    def tell(self, event: str, facts: dict[str, Any]) -> None:
        """Tell it in a thread; what goes wrong is logged, and changes nothing."""
        if self._send is None:
            return
        thread = threading.Thread(
            target=_tell,
            args=(self._send, event, facts),
            name="dpbb-notice",
            daemon=True,
        )
        self._threads = [one for one in self._threads if one.is_alive()] + [thread]
        thread.start()

    def look(self, snapshot: Snapshot) -> None:
        """Tell it when a run has had no seat for a while; once each time."""
        run = str(snapshot.run_id)
        lacking = not snapshot.seats and not snapshot.shares_with
        if not (lacking and snapshot.waits_for and goes_on(snapshot)):
            self._without_seats.discard(run)
        elif run not in self._without_seats:
            self._without_seats.add(run)
            self.tell(NO_SEATS, facts_of(snapshot))

    def close(self) -> None:
        """Wait until all has been told, or its time is over."""
        for thread in self._threads:
            thread.join(PATIENCE_S)


@contextmanager
def telling(target: str | None) -> Iterator[Notifier]:
    """Yield who is told; an error of the block is told, too."""
    notifier = Notifier(target)
    try:
        yield notifier
    except Exception as error:
        notifier.tell(FAILURE, {"state": "failed", "error": str(error)})
        raise
    finally:
        notifier.close()


def _tell(
    send: Callable[[bytes, dict[str, Any]], None], event: str, facts: Any
) -> None:
    told = {"event": event, **facts}
    try:
        send(json.dumps(told).encode(), told)
    except FAILURES as error:
        what = str(error) or type(error).__name__
        logger.warning("on-end: %s could not be told: %s", event, what)


def _sender(target: str) -> Callable[[bytes, dict[str, Any]], None]:
    """Return what sends a JSON object, and the facts in it; else OptionError."""
    if re.match("https?://", target, re.IGNORECASE):
        try:
            host = urlsplit(target).hostname
        except ValueError:
            host = None
        if not host:
            raise OptionError(f"on-end: expected a host in the address, got {target!r}")
        return partial(_post, target)
    try:
        words = shlex.split(target)
    except ValueError as error:
        raise OptionError(
            f"on-end: expected a command or an address, got {target!r}: {error}"
        ) from error
    if not words:
        raise OptionError("on-end: expected a command or an address, got nothing")
    quoted = shlex.split(target, posix=False)  # what stands in quotes keeps them
    of_shell = [word for word in quoted if _OF_SHELL.match(word)]
    if of_shell:
        raise OptionError(
            f"on-end: expected a command alone, as no shell reads it, got "
            f"{of_shell[0]!r}; for a shell write sh -c '...'"
        )
    if shutil.which(words[0]) is None:
        raise OptionError(
            f"on-end: expected a command that can be executed, got {words[0]!r}, which "
            "is none here"
        )
    return partial(_run, words)


def _post(url: str, body: bytes, _told: dict[str, Any]) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers)  # noqa: S310 (as it was checked)
    urllib.request.urlopen(request, timeout=PATIENCE_S).close()  # noqa: S310


def _run(command: list[str], body: bytes, told: dict[str, Any]) -> None:
    names = ("event", "run", "instance", "state", "value")
    known = {name: told[name] for name in names if told.get(name) is not None}
    said = {f"DPBB_{name.upper()}": str(value) for name, value in known.items()}
    subprocess.run(  # noqa: S603 (the user's own command)
        command,
        input=body,
        env={**os.environ, **said},
        stdout=subprocess.DEVNULL,
        timeout=PATIENCE_S,
        check=True,
    )


def facts_of(snapshot: Snapshot) -> dict[str, Any]:
    """Return what is told of a run."""
    return {
        "run": str(snapshot.run_id),
        "instance": snapshot.instance,
        "state": state_word(snapshot),
        "value": snapshot.value,
        "lower_bound": snapshot.lower_bound,
        "seconds": round(snapshot.seconds, 3),
        "nodes": snapshot.nodes,
        "error": snapshot.error,
        "waits_for": snapshot.waits_for,
    }


def facts_of_result(result: Result) -> dict[str, Any]:
    """Return what is told of a solve that has come to its end."""
    return {
        "instance": result.instance,
        "state": f"{result.status}, {result.termination}",
        "value": result.makespan,
        "lower_bound": result.lower_bound,
        "seconds": round(result.seconds, 3),
        "nodes": result.nodes,
    }


def noticed(shown: Progress, notifier: Notifier) -> Progress:
    """Have what shows a run tell, too, when it has no seats."""
    show = shown.update

    def update(snapshot: Snapshot) -> None:
        notifier.look(snapshot)
        show(snapshot)

    shown.update = update  # type: ignore[method-assign]
    return shown
