"""Commands and addresses that are told of the end of runs."""

import json
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dpbb.errors import OptionError
from dpbb.options import OPTIONS
from dpbb.progress import notices
from dpbb.progress.base import Progress
from dpbb.progress.notices import Noticed, Notifier, Wants, facts_of
from tests.unit.dashboard.fakes import BASE

WRITE = (
    "import os, sys; open({!r}, 'w').write(os.environ['DPBB_EVENT'] + sys.stdin.read())"
)


class Listener:
    """A notifier that notes what it is told."""

    def __init__(self):
        self.told = []

    def tell(self, event, facts):
        self.told.append((event, facts["instance"]))


def test_a_command_gets_the_facts_and_no_shell_reads_them(tmp_path):
    file = tmp_path / "told"
    code = tmp_path / "tell.py"
    code.write_text(WRITE.format(str(file)))
    notifier = Notifier(f"{sys.executable} {code}")
    notifier.tell("end", facts_of(replace(BASE, instance="$(touch x); `y`")))
    notifier.close()
    text = file.read_text()
    assert text.startswith("end{")
    facts = json.loads(text.removeprefix("end"))
    assert facts["instance"] == "$(touch x); `y`"
    assert (facts["event"], facts["state"], facts["value"]) == ("end", "running", 12)


def test_an_address_gets_the_facts():
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        notifier = Notifier(f"http://127.0.0.1:{server.server_port}/hook")
        notifier.tell("failure", facts_of(BASE))
        notifier.close()
        thread.join()
    assert [(one["event"], one["run"]) for one in got] == [("failure", "abc")]


def test_what_goes_wrong_is_logged_alone(caplog):
    for target in ("/nonexistent/command", f"{sys.executable} -c exit(3)"):
        notifier = Notifier(target)
        notifier.tell("end", facts_of(BASE))
        notifier.close()
    assert caplog.text.count("on-end: end could not be told") == 2


def test_no_file_and_no_checkpoint_can_name_a_command():
    """Options may come from a TOML file, a spec or a checkpoint."""
    assert not {name for name in OPTIONS if "on_end" in name or "command" in name}


@pytest.mark.parametrize("target", ["", "'unclosed"])
def test_bad_targets_are_refused(target):
    with pytest.raises(OptionError, match="on-end: expected a command"):
        Notifier(target)


def test_want_of_seats_is_told_once_each_time():
    listener = Listener()
    wants = Wants(listener)
    hungry = replace(BASE, seats=(), waits_for="no workers connected")
    for snapshot in (BASE, hungry, hungry, BASE, hungry):
        wants.look(snapshot)
    assert listener.told == [(notices.NO_SEATS, "three")] * 2
    wants.look(replace(hungry, run_id="other", shares_with=("ta052",)))
    assert len(listener.told) == 2  # it takes turns


def test_a_progress_that_is_noticed_shows_the_same():
    seen = []

    class Inner(Progress):
        def update(self, snapshot):
            seen.append((self.offset_s, snapshot.waits_for))

        def note(self, text):
            seen.append(text)

    listener = Listener()
    progress = Noticed(Inner(), listener)
    progress.offset_s = 2.0
    progress.note("engine cpu")
    progress.update(replace(BASE, seats=(), waits_for="no workers connected"))
    progress.close()
    assert seen == ["engine cpu", (2.0, "no workers connected")]
    assert listener.told == [(notices.NO_SEATS, "three")]
