"""Commands and addresses that are told of the end of runs."""

import json
import socket
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from dpbb.errors import OptionError
from dpbb.progress import notices
from dpbb.progress.notices import Notifier, facts_of
from tests.unit.dashboard.fakes import BASE

WRITE = (
    "import os, sys; open({!r}, 'w').write(os.environ['DPBB_EVENT'] + sys.stdin.read())"
)


class Listener(Notifier):
    """A notifier that notes what it is told."""

    def __init__(self):
        super().__init__(None)
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


def test_what_goes_wrong_is_logged_alone(caplog, tmp_path):
    gone = tmp_path / "gone"
    gone.write_text("#!/bin/sh\n")
    gone.chmod(0o700)
    for target in (str(gone), f"{sys.executable} -c exit(3)"):
        notifier = Notifier(target)
        gone.unlink(missing_ok=True)
        notifier.tell("end", facts_of(BASE))
        notifier.close()
    assert caplog.text.count("on-end: end could not be told") == 2


def test_an_address_that_answers_nonsense_is_logged(caplog):
    """Not a line of HTTP: ``BadStatusLine`` is no OSError."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"nonsense\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        notifier = Notifier(f"HTTP://127.0.0.1:{server.getsockname()[1]}/hook")
        notifier.tell("end", facts_of(BASE))
        notifier.close()
        thread.join()
    assert "on-end: end could not be told: nonsense" in caplog.text


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("", "expected a command or an address, got nothing"),
        ("'unclosed", "expected a command or an address, got"),
        ("/nonexistent/command", "can be executed, got '/nonexistent/command'"),
        ("cat | mail me", r"no shell reads it, got '\|'; for a shell write sh -c"),
        ("cat > file", "no shell reads it, got '>'"),
        ("echo $DPBB_VALUE", r"no shell reads it, got '\$DPBB_VALUE'"),
        ("cat && cat", "no shell reads it, got '&&'"),
        ("https:///hook", "expected a host in the address"),
        ("http://[::1", "expected a host in the address"),
    ],
)
def test_bad_targets_are_refused_at_the_start(target, message):
    with pytest.raises(OptionError, match=f"on-end: .*{message}"):
        Notifier(target)


def test_a_shell_may_be_asked_for(tmp_path):
    file = tmp_path / "told"
    notifier = Notifier(f"sh -c 'echo $DPBB_EVENT | tr a-z A-Z > {file}'")
    notifier.tell("end", facts_of(BASE))
    notifier.close()
    assert file.read_text() == "END\n"
    Notifier("echo '<b>done</b>' '$5'")  # quoted: meant as it is


def test_want_of_seats_is_told_once_each_time():
    listener = Listener()
    hungry = replace(BASE, seats=(), waits_for="no workers connected")
    for snapshot in (BASE, hungry, hungry, BASE, hungry):
        listener.look(snapshot)
    assert listener.told == [(notices.NO_SEATS, "three")] * 2
    listener.look(replace(hungry, run_id="other", shares_with=("ta052",)))
    assert len(listener.told) == 2  # it takes turns
