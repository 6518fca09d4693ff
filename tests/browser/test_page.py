"""The page in a browser, against runs on a cluster of this machine."""

import os
from dataclasses import replace
from itertools import combinations

import pytest

from dpbb.cluster.client.open import ensure_plugin, submit_run
from dpbb.cluster.scheduler.plugin import DpbbSchedulerPlugin
from dpbb.plotting import gantt_html
from dpbb.result import Termination
from tests.browser import support
from tests.cluster.support import HUGE, local_cluster, spec_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.cluster,
    pytest.mark.skipif(support.missing() is not None, reason=str(support.missing())),
]

WAIT_MS = 60_000

LENGTH = """([name, series]) => {
    const model = Bokeh.documents[0].get_model_by_name(name);
    return model.renderers[0].data_source.data[series].length;
}"""


@pytest.fixture(scope="module")
def client():
    with local_cluster(2, processes=True) as (_, client):
        client.run(os.nice, 10)  # browser and scheduler come first
        yield client


@pytest.fixture(scope="module")
def chromium():
    with support.browser() as chromium:
        yield chromium


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    context.close()


def test_names_in_narrow_bars_of_a_gantt_are_left_out(page, tmp_path):
    jobs = "".join(f"a long name {job},9,9\n" for job in range(9))
    (tmp_path / "shop.csv").write_text("job,cut,weld\n" + jobs)
    file = tmp_path / "gantt.html"
    file.write_text(gantt_html((tmp_path / "shop.csv", list(range(9)))))
    page.goto(file.as_uri())
    fits = """(some) => {
        const [filter] = [...Bokeh.documents[0]._all_models.values()].filter(
            (model) => model.type == "BooleanFilter");
        return filter.booleans.includes(true) == some;
    }"""
    page.wait_for_function(fits, arg=True)
    page.set_viewport_size({"width": 420, "height": 900})
    page.wait_for_function(fits, arg=False)
    assert page.errors == []


def huge_run(client, **options):
    permutation = tuple(range(50))
    return submit_run(
        client,
        spec_of(*HUGE, permutation=permutation, checkpoint_interval_s=1.0, **options),
    )


def picked(page):
    """The run that is shown."""
    return page.evaluate("Bokeh.documents[0].get_model_by_name('picker').value")


def nodes(page):
    """Number of nodes on the status line."""
    return page.locator("#dpbb-status .tile", has_text="nodes").first.inner_text()


def test_a_run_is_watched_saved_and_stopped(client, page, tmp_path):
    with huge_run(client, checkpoint=str(tmp_path / "saved")) as run:
        page.goto(support.page_address(client, "status"))
        page.click("a[href='dpbb']")
        page.wait_for_url("**/dpbb")
        page.locator("#dpbb-status", has_text="ta056").wait_for()
        page.locator("#dpbb-status", has_text="running").wait_for()

        # data grows without a reload
        page.wait_for_function("() => window.Bokeh && Bokeh.documents.length")
        samples = page.evaluate(
            "Bokeh.documents[0].get_model_by_name('rate')"
            ".renderers[1].data_source.data.x.length"
        )
        before = nodes(page)
        page.wait_for_function(
            "([before]) => Bokeh.documents[0].get_model_by_name('rate')"
            ".renderers[1].data_source.data.x.length > before + 2",
            arg=[samples],
        )
        page.locator("#dpbb-status .tile", has_text="nodes/s").first.wait_for()
        page.locator(
            "#dpbb-status .tile", has_text="nodes"
        ).first.filter(has_not_text=before).wait_for()  # fmt: skip
        # 50 jobs on 20 machines
        assert page.evaluate(LENGTH, ["gantt", "left"]) == 1000
        page.locator("#dpbb-details", has_text="saved").wait_for()
        seats = page.locator("#dpbb-seats")
        for name in ("2 busy", "0 idle", "0 lost", "shared"):
            seats.filter(has_text=name).wait_for()

        page.get_by_role("button", name="Save now").click()
        page.locator("#dpbb-message", has_text="Saved.").wait_for()
        assert list((tmp_path / "saved").iterdir())

        page.locator("#dpbb-events tr", has_text=" joined").first.wait_for()
        # workers are called as on Dask's page of workers
        page.locator("#dpbb-devices td", has_text="0/cpu0").first.wait_for()

        asked = []
        page.once(
            "dialog", lambda dialog: (asked.append(dialog.message), dialog.accept())
        )
        page.get_by_role("button", name="Stop run").click()
        assert run.result(timeout=60).termination is Termination.STOPPED
        page.locator("#dpbb-status", has_text="stopped").wait_for()
        saved = tmp_path / "saved"
        assert asked == [
            f"Stop ta056 ({run.run_id})? `dpbb resume {saved}` goes on from its last "
            "checkpoint."
        ]
    # a run that is over stays, also when its client is gone
    page.reload()
    page.locator("#dpbb-status", has_text="stopped").wait_for()
    assert page.evaluate(LENGTH, ["gantt", "left"]) == 1000
    assert page.errors == []


@pytest.mark.slow
def test_a_command_may_be_given_again(client, page, tmp_path):
    """Bokeh sends no data that are those of before."""
    options = {"checkpoint_interval_s": 600.0, "checkpoint": str(tmp_path / "saved")}
    spec = spec_of(*HUGE, permutation=tuple(range(50)), **options)
    with submit_run(client, spec) as run:
        page.goto(support.page_address(client) + f"?run={run.run_id}")
        page.locator("#dpbb-status", has_text="running").wait_for()
        for written in (1, 2):
            page.get_by_role("button", name="Save now").click()
            page.locator("#dpbb-details", has_text=f"({written} written)").wait_for()
    assert page.errors == []


def test_the_page_follows_the_newest_run_to_a_gap_of_0(client, page):
    client.register_plugin(DpbbSchedulerPlugin())  # there is no page before
    page.goto(support.page_address(client) + "?theme=dark")
    spec = spec_of("ta016", 1397, permutation=tuple(range(20)))
    spec = replace(spec, upper_bound=None)
    with submit_run(client, spec) as run:
        outcome = run.result()
    page.locator("#dpbb-status", has_text="optimal, proved").wait_for()
    gap = page.locator("#dpbb-status .tile", has_text="gap").locator("b")
    assert gap.inner_text() == "0"
    value = page.locator("#dpbb-status .tile", has_text="incumbent").locator("b")
    assert value.inner_text() == f"{outcome.value:,}"
    assert page.evaluate(LENGTH, ["gantt", "left"]) == 200
    assert (
        page.evaluate("document.querySelector('meta[name=color-scheme]').content")
        == "dark"
    )
    assert page.errors == []


def test_a_command_without_the_key_of_the_page_does_nothing(client, page):
    """Pages of other sites can open a connection, but do not know the key."""
    with huge_run(client) as run:
        page.goto(support.page_address(client) + f"?run={run.run_id}")
        page.locator("#dpbb-status", has_text="running").wait_for()
        page.evaluate("window.dpbbKey = 'guessed'")
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Stop run").click()
        page.locator("#dpbb-message", has_text="Refused").wait_for()
        assert not run.done()


def test_parts_fill_the_page_and_none_overlaps(client, page):
    sides = ("x", "width"), ("y", "height")
    with huge_run(client):
        for width, height in ((1280, 900), (1920, 1000)):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(support.page_address(client))
            page.locator("#dpbb-status", has_text="running").wait_for()
            boxes = [one.bounding_box() for one in page.locator(".card:visible").all()]
            assert len(boxes) == 8 + 3
            assert all(0 <= one["x"] <= width - one["width"] for one in boxes)
            assert all(one["y"] + one["height"] <= height for one in boxes[:8])
            for top in {box["y"] for box in boxes}:  # no row has room for another part
                row = [box["width"] + 8 for box in boxes if box["y"] == top]
                assert sum(row) == pytest.approx(width - 12, abs=1)
            for one, other in combinations(boxes, 2):
                both = (one, other), (other, one)
                assert any(a[x] + a[w] <= b[x] for a, b in both for x, w in sides)


def test_nothing_is_cut_off_on_a_phone(client, page):
    page.set_viewport_size({"width": 420, "height": 900})
    with huge_run(client):
        page.goto(support.page_address(client))
        page.locator("#dpbb-devices td", has_text="0/cpu0").first.wait_for()
        wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
        assert page.locator(".card, .card .scroll").evaluate_all(wide) == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 420


@pytest.mark.slow
def test_the_page_stays_with_its_run(client, page):
    """Whatever is submitted meanwhile; a reload keeps it, and so does a pick."""
    client.sync(ensure_plugin, client)
    page.goto(support.page_address(client) + "?run=nobody")
    missing = page.locator("#dpbb-missing .banner")
    missing.filter(has_text="does not know the run nobody").wait_for()
    with huge_run(client) as first:
        page.goto(support.page_address(client))
        page.wait_for_url(f"**/dpbb?run={first.run_id}")
        assert page.title().startswith("ta056 · ")
        with huge_run(client) as second:
            page.locator("#dpbb-runs td", has_text=second.run_id).wait_for()
            assert picked(page) == first.run_id
            page.reload()
            page.locator("#dpbb-runs td", has_text=second.run_id).wait_for()
            assert picked(page) == first.run_id
            page.locator("#dpbb-picker select").select_option(index=0)  # the newest
            page.wait_for_url(f"**/dpbb?run={second.run_id}")
    assert page.errors == []


def test_a_scheduler_that_is_gone_looks_gone(page):
    with local_cluster(0, protocol="tcp://", host="127.0.0.1") as (_, client):
        page.clock.install()
        client.sync(ensure_plugin, client)
        page.goto(support.page_address(client))
        page.locator("#dpbb-first", has_text="dpbb submit ta021").wait_for()
        page.wait_for_function("() => window.Bokeh && Bokeh.documents.length")
        page.clock.run_for(3000)
        assert not page.locator("#dpbb-lost").is_visible()
    page.clock.run_for(20_000)
    page.locator("#dpbb-lost", has_text="was lost at").wait_for()
    assert page.locator("body.dpbb-lost").count() == 1
    assert page.title() == "no connection · dpbb"
