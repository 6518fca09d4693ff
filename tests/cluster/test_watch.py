"""``Run.watch`` and what a run shows of itself in a notebook."""

import io

import pytest

from dpbb.progress import Progress, ProgressPrinter
from tests.cluster.support import HUGE, MIDDLE, spec_of, submit

pytestmark = pytest.mark.cluster


class Seen(Progress):
    """Keeps what it is given."""

    def __init__(self):
        self.notes, self.states, self.results, self.closed = [], [], [], False

    def note(self, text):
        self.notes.append(text)

    def update(self, snapshot):
        self.states.append(snapshot.state)

    def done(self, result):
        self.results.append(result)

    def close(self):
        self.closed = True


def test_watch_shows_rows_to_the_end(client):
    stream = io.StringIO()
    with submit(client, spec_of(*MIDDLE[:2])) as run:
        assert run.watch(ProgressPrinter(stream)) is None
        assert run.done()
    lines = stream.getvalue().splitlines()
    assert lines[0] == f"dashboard {run.dashboard}"
    assert lines[0].endswith("/dpbb")
    assert "BestBound" in lines[1]
    assert " 16.1 k  16.1 k " in lines[-1]


def test_watch_in_the_background_ends_with_the_run(client):
    seen = Seen()
    with submit(client, spec_of(*HUGE[:2])) as run:
        thread = run.watch(seen, block=False)
        assert not run.done()  # it did not wait
        run.stop()
        thread.join(60)
        assert not thread.is_alive()
    assert seen.states[-1] == "finished"
    assert len(seen.results) == 1
    assert seen.closed


def test_interrupting_leaves_the_run(client):
    class Impatient(Seen):
        def update(self, snapshot):
            raise KeyboardInterrupt

    seen = Impatient()
    with submit(client, spec_of(*HUGE[:2])) as run:
        with pytest.raises(KeyboardInterrupt):
            run.watch(seen)
        assert seen.closed
        assert run.snapshot().state == "running"
