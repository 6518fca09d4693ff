"""Page and metrics on a running scheduler, over HTTP."""

import socket
import sys
import urllib.error
import urllib.request

import dask
import pytest

from dpbb.cluster.local import embedded_cluster
from dpbb.cluster.scheduler.page import is_loopback, is_own_name
from dpbb.errors import ClusterError
from tests.cluster.support import (
    HUGE,
    SMALL,
    local_cluster,
    spec_of,
    submit,
    wait_until,
)

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def client():
    with local_cluster(host="127.0.0.1", protocol="tcp://") as (_, client):
        yield client


def asked(url, host, **headers):
    """Status and text of a page that is asked for under a name."""
    headers = {"Host": host, **headers}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def get(client, path):
    """Status and text of one of the dashboard's pages."""
    address = client.dashboard_link.rpartition("/")[0] + path
    return asked(address, "127.0.0.1")


def series(client):
    """Our metrics: name with labels, and value."""
    text = get(client, "/metrics")[1]
    lines = [line for line in text.splitlines() if line.startswith("dask_dpbb_")]
    return {name: float(value) for name, _, value in (x.rpartition(" ") for x in lines)}


def test_the_page_comes_with_the_first_run(client):
    assert get(client, "/dpbb")[0] == 404  # the first test of this file
    with submit(client, spec_of(*SMALL[:2])) as run:
        run.result()
    status, page = get(client, "/dpbb")
    assert status == 200
    assert "cdn.bokeh.org" not in page  # it must work without the Internet
    # Dask's own pages know of it
    assert 'href="dpbb"' in get(client, "/status")[1]


def test_metrics_of_an_open_run(client):
    spec = spec_of(*HUGE, permutation=tuple(range(50)), report_interval_s=0.1)
    with submit(client, spec) as run:
        labels = f'problem="ta056",run="{run.run_id}"'
        wait_until(lambda: series(client).get(f"dask_dpbb_nodes{{{labels}}}"))
        found = series(client)
        assert found["dask_dpbb_runs"] == 1
        assert found[f"dask_dpbb_upper_bound{{{labels}}}"] == HUGE[1]
        assert found[f"dask_dpbb_incumbent{{{labels}}}"] > HUGE[1]
        assert found[f"dask_dpbb_nodes{{{labels}}}"] > 0
        assert f"dask_dpbb_checkpoint_age_seconds{{{labels}}}" not in found
        seats = 'engine="cpu",' + f'problem="ta056",run="{run.run_id}",state="busy"'
        assert found[f"dask_dpbb_seats{{{seats}}}"] == 1
        run.stop()
        run.result()
    assert found[f'dask_dpbb_run_state{{{labels},state="running"}}'] == 1
    after = series(client)  # the final state alone, for alerts
    assert after.pop("dask_dpbb_runs") == 0
    assert after[f'dask_dpbb_run_state{{{labels},state="stopped"}}'] == 1
    assert all(name.startswith("dask_dpbb_run_state") for name in after)


def test_controls_on_loopback_alone_unless_somebody_said_so(client):
    with submit(client, spec_of(*HUGE)) as run:
        plugin = client.cluster.scheduler.extensions["dpbb"]
        assert is_loopback(client.cluster.scheduler)
        assert plugin.page.refused is None
        with dask.config.set({"dpbb.dashboard.controls": False}):
            assert "dpbb.dashboard.controls is false" in plugin.page.refused
            with pytest.raises(ClusterError, match=r"dpbb\.dashboard\.controls"):
                client.sync(plugin.page.stop, run.run_id)
        assert not run.done()
        assert client.sync(plugin.page.stop, run.run_id) == "Stopped."
        run.result()


@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("127.0.0.1:8787", True), ("[::1]:8787", True), ("localhost:8787", True),
        (socket.gethostname() + ":1", True), ("evil.example:8787", False),
        ("127.0.0.1.evil.example:8787", False), ("", False),
    ],
)  # fmt: skip
def test_names_of_this_host(host, is_own):
    """Any site may have its own name resolve to this host."""
    assert is_own_name(host, "tcp://127.0.0.1:8786") == is_own
    assert is_own_name("node7:8787", "tcp://node7:8786")
    with dask.config.set({"dpbb.dashboard.hosts": ["evil.example"]}):
        assert is_own_name("evil.example:1", "tcp://127.0.0.1:8786")


def test_the_page_answers_under_an_own_name_alone(client):
    """Whoever has another name lead here could read it, and the key with it."""
    with submit(client, spec_of(*SMALL[:2])) as run:
        run.result()
        key = client.cluster.scheduler.extensions["dpbb"].page.key
        page = run.dashboard
    for host in ("localhost:8787", "127.0.0.1"):
        status, text = asked(page, host)
        assert status == 200
        assert key in text
    for url in (page, f"{page}/ws", f"{page}/autoload.js"):
        status, text = asked(url, "evil.example:8787")
        assert status == 403
        assert key not in text
        assert "does not answer as 'evil.example:8787'" in text
        assert "dpbb.dashboard.hosts" in text
    # what is not ours is nothing of ours to refuse
    assert asked(page.replace("/dpbb", "/health"), "evil.example:8787") == (200, "ok")
    assert asked(page.replace("/dpbb", "/nothing"), "evil.example")[0] == 404
    for hosts in (["proxy.example"], "proxy.example"):
        with dask.config.set({"dpbb.dashboard.hosts": hosts}):
            assert asked(page, "proxy.example:443")[0] == 200


def test_the_page_is_shown_in_no_frame_of_another_site(client):
    """A click meant for that site would stop a run. Dask's pages are JupyterLab's."""
    with submit(client, spec_of(*SMALL[:2])) as run:
        run.result()
        page = run.dashboard
    found = {}
    for path in ("dpbb", "status"):
        with urllib.request.urlopen(page.replace("dpbb", path)) as answer:  # noqa: S310
            names = "Content-Security-Policy", "X-Frame-Options"
            found[path] = tuple(answer.headers[name] for name in names)
    assert found == {
        "dpbb": ("frame-ancestors 'self'", "SAMEORIGIN"),
        "status": (None, None),
    }


def test_the_page_answers_its_own_connections_alone(client):
    """Dask lets any site open one; it would show the run, and what stops it."""
    with submit(client, spec_of(*SMALL[:2])) as run:
        run.result()
        page = run.dashboard
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    upgrade |= {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "a" * 22 + "=="}
    for url in (page, f"{page}/ws"):
        status, text = asked(
            url, "127.0.0.1:1", Origin="http://evil.example", **upgrade
        )
        assert status == 403
        assert "does not answer a page of 'http://evil.example'" in text
    assert asked(page, "127.0.0.1:1", Origin="http://127.0.0.1:1")[0] == 200
    # let through: what is missing is a session of the page
    own = asked(f"{page}/ws", "127.0.0.1:1", Origin="http://127.0.0.1:1", **upgrade)
    assert own[0] != 403


def test_controls_are_off_on_a_dashboard_for_everybody():
    with (
        local_cluster(0, dashboard_address="0.0.0.0:0") as (cluster, client),
        submit(client, spec_of(*HUGE)),
    ):
        controls = cluster.scheduler.extensions["dpbb"].page
        assert not is_loopback(cluster.scheduler)
        assert "no login" in controls.refused
        with dask.config.set({"dpbb.dashboard.controls": True}):
            assert controls.refused is None
    assert controls.refused  # closed, while a page may still be open


@pytest.mark.parametrize("then", [200, 404])
def test_the_page_of_a_calls_own_cluster_comes_when_somebody_looks(then, monkeypatch):
    """Bokeh takes a second, or cannot be imported; a browser asks again by itself."""
    if then == 404:
        monkeypatch.setitem(sys.modules, "dpbb.dashboard.page", None)
    with embedded_cluster(workers=1, dashboard_address="127.0.0.1:0") as (_, client):
        status, text = get(client, "/dpbb")
        assert (status, text[:13]) == (503, "The dashboard")
        with submit(client, spec_of(*SMALL[:2])) as run:
            run.result()
        wait_until(lambda: get(client, "/dpbb")[0] == then)
        assert get(client, "/nothing")[0] == 404
