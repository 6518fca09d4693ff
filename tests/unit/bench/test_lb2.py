"""The papers' protocol: lists of open nodes, what is kept, what is printed."""

import json
import sys
import time
from pathlib import Path

import psutil
import pytest

from dpbb.bench.lb2_lists import NodeList, make_list
from dpbb.bench.lb2_report import print_report, structures, trees_of
from dpbb.bench.lb2_scalar import ScalarFlowShop
from dpbb.bench.lb2_trees import Book, Key, Plan, keys, measure
from dpbb.engines.base import Device
from dpbb.engines.driver import explore_to_end
from dpbb.engines.pool.bounding import CpuBounding
from dpbb.engines.pool.session import PoolSession
from dpbb.engines.pool.settings import PoolSettings
from dpbb.engines.registry import get_engine
from dpbb.errors import OptionError


@pytest.fixture(scope="module")
def found():
    return make_list("ta021", "minmin", 3, 3000)


def test_a_seed_gives_the_same_list(found):
    assert make_list("ta021", "minmin", 3, 3000) == found
    assert make_list("ta021", "minmin", 4, 3000) != found
    assert NodeList.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.bounded >= 3000
    found.unit.check()


def test_a_whole_tree_that_is_too_small_gets_the_next_upper_bound():
    """The root of ta110 is bounded by its optimum, 11284."""
    found = make_list("ta110", "minmin", 9, 1000)
    assert found.ub == 11288
    assert found.bounded >= 500
    assert found.leaves == 0


def test_a_list_has_its_counts_in_every_order(found):
    """Also of the reference engine: the scalar search and the engine count the same."""
    settings = PoolSettings(pool_size=64, keeps_ub=True)
    model = ScalarFlowShop(found.problem, found.tree)
    given = found.problem, found.tree
    session = PoolSession(
        *(*given, model, CpuBounding(model, 1), settings, found.ub),
        threads=1,
        all_optima=False,
    )
    device = Device("cpu", "here", threads=2)
    other = get_engine("pool").open_with(settings, *given, device, ub=found.ub)
    for some in (session, other):
        some.load(found.unit)
        counters = explore_to_end(some, found.ub).counters
        some.close()
        assert (counters.decomposed, counters.leaves) == (
            found.decomposed,
            found.leaves,
        )


def test_a_book_goes_on_from_its_file(found, tmp_path):
    path = tmp_path / "trees.json"
    book = Book(path)
    book.lists[Key("ta021", "minmin", 3, 3000)] = found
    row = {"instance": "ta021", "branching": "minmin", "how": "core", "pool": None}
    row |= {"seed": 3, "wanted": 3000}
    book.add({**row, "seconds": [2.0], "bounding_s": 1.0, "exact": True})
    book.add({**row, "how": "parents", "pool": 8192, "seconds": [0.5], "exact": True})
    book.save()
    again = Book(path)
    assert again.lists == book.lists
    assert again.has(instance="ta021", how="parents", pool=8192)
    assert not again.has(instance="ta021", how="parents", pool=4096)
    other = Book(tmp_path / "other.json", [path, path])
    assert (other.lists, other.rows) == (book.lists, book.rows)


@pytest.mark.parametrize(
    "text",
    ["", "[1", "{}", '{"host": 1, "rows": []}', "[3]",
     '{"host": {}, "lists": [], "rows": [{"exact": true, "how": "core"}]}'],
)  # fmt: skip
def test_a_file_that_is_another_is_refused(text, tmp_path):
    path = tmp_path / "trees.json"
    path.write_text(text)
    for read in (Book, lambda path: print_report([path], None, None, None)):
        with pytest.raises(OptionError, match=r"expected a file of .*, got .*trees"):
            read(path)


def test_nothing_is_drawn_of_nothing(tmp_path):
    path = tmp_path / "trees.json"
    Book(path).save()
    with pytest.raises(OptionError, match="none to draw"):
        print_report([path], None, None, tmp_path / "trees.png")
    assert not (tmp_path / "trees.png").exists()


def test_a_call_says_how_many_lists_are_missing(tmp_path, capsys):
    wanted = keys(["20x20"], ["minmin"])
    assert measure(Book(tmp_path / "trees.json"), wanted, Plan((), 1.0))
    assert "0 of 10 lists are there" in capsys.readouterr().out


def test_lists_alone_are_made(tmp_path):
    """On other cores than those that explore them; what is known of a host is not."""
    path = tmp_path / "trees.json"
    known = Book(path)
    known.host = {"gpu": "another"}
    known.save()
    book = Book(tmp_path / "lists.json", [path])
    wanted = [Key("ta021", "minmin", seed, 300) for seed in (0, 1)]
    assert measure(book, wanted, Plan(("lists",), 60.0, side_by_side=1))
    assert [*book.lists] == wanted
    assert not book.rows
    assert book.host.get("gpu") != "another"
    row = {"instance": "ta021", "branching": "minmin", "how": "core", "pool": None}
    row |= {"wanted": 300, "ub": 2297, "exact": True}
    for seed in (0, 1):  # searched in an earlier call, whose lists were not kept
        book.rows.append({**row, "seed": seed})
    again = Book(tmp_path / "again.json")
    again.rows = book.rows
    assert measure(again, wanted, Plan(("cores",), 60.0, side_by_side=1))
    assert (len(again.lists), len(again.rows)) == (2, 2)
    again.rows[0]["wanted"] = 200  # of a shorter list
    assert measure(again, wanted, Plan(("cores",), 60.0, side_by_side=1))
    assert [row["wanted"] for row in again.rows] == [200, 300, 300]
    before = {key: id(found) for key, found in book.lists.items()}
    assert measure(book, wanted, Plan(("lists",), 60.0, side_by_side=1))
    assert {key: id(found) for key, found in book.lists.items()} == before


def test_its_processes_end_with_a_call_that_is_killed(tmp_path):
    call = [sys.executable, "-m", "dpbb", "bench", "lb2", "--part", "trees"]
    options = ["--ways", "lists", "--side-by-side", "1"]
    process = psutil.Popen([*call, *options, "--json", str(tmp_path / "lists.json")])

    end = time.monotonic() + 60

    def search_began():
        return any(child.cpu_percent(0.1) > 50 for child in process.children())

    try:
        while not search_began():
            assert process.poll() is None
            assert time.monotonic() < end
        found = process.children()
    finally:
        process.kill()
        process.wait()
    _, alive = psutil.wait_procs(found, timeout=10)
    assert not alive


def test_a_part_of_arms_and_pools_can_be_measured():
    plan = Plan(arms=("parents",), pools=(4096, 8192))
    assert plan.has("parents", 8192)
    assert not plan.has("parents", 16384)
    assert not plan.has("basic", 4096)
    assert Plan().has("basic", 4096)
    with pytest.raises(OptionError, match=r"expected .*'parents'.*got \['all_'\]"):
        Plan(arms=("parents", "all_"))
    with pytest.raises(OptionError, match=r"pools: expected .*4096.*got \[5000\]"):
        Plan(pools=(4096, 5000))


def test_lists_are_ten_of_a_class_and_rule():
    wanted = keys(["20x20", "200x20"], ["minmin", "front"])
    assert len(wanted) == 40
    assert wanted[0] == Key("ta021", "minmin", 0, 5_100_000)
    assert wanted[-1] == Key("ta110", "front", 9, 600_000)


def test_the_six_structures_have_the_papers_sizes():
    """E4 of the papers: 38 KB, 76 KB and 4 KB at 200 jobs and 20 machines."""
    sizes = {name: size for name, size, _ in structures("200x20")}
    assert (sizes["JM"], sizes["LM"], sizes["PTM"]) == (38_000, 76_000, 4_000)


def test_the_rows_of_the_documentation_are_whole():
    """``docs/lb2.md`` has its tables of trees from them."""
    folder = Path(__file__).parents[3] / "results"
    names = (f"lb2-trees-{host}.json" for host in (1, 2, 3))
    found = trees_of(Book(folder / name).rows for name in names)
    assert len(found) == 8
    for trees in found.values():
        assert len(trees.seconds) == 10
        for how in ("parents", "tables, refactored"):
            assert len(trees.speed_ups[how][262144]) == 10
        assert all(len(found) == 10 for found in trees.speed_ups["parents"].values())
        assert all(len(trees.threads[count]) == 10 for count in (1, 3, 5, 7, 9, 11))


def test_speed_ups_are_over_the_core_of_their_file():
    row = {"instance": "ta021", "branching": "front", "exact": True, "pool": None}
    core = {**row, "how": "core", "bounding_s": 57.0}
    threads = [{**row, "how": f"{count} threads", "seconds": [4.0]} for count in (3, 5)]
    before = [{**core, "seconds": [60.0]}, *threads]
    after = [{**core, "seconds": [100.0]}, threads[0]]
    [trees] = trees_of([before, after]).values()
    assert trees.seconds == {"ta021": 100.0}
    assert trees.threads == {3: [25.0], 5: [15.0]}
    [trees] = trees_of([before, threads]).values()  # of a call that went on
    assert trees.threads == {3: [15.0], 5: [15.0]}


def test_pools_are_compared_on_the_same_lists(tmp_path, capsys):
    book = Book(tmp_path / "trees.json")
    for number, runs in (("ta021", {4096: 2.0, 8192: 1.0}), ("ta022", {8192: 0.5})):
        row = {"instance": number, "branching": "front", "exact": True}
        core = {"how": "core", "pool": None, "seconds": [60.0], "bounding_s": 57.0}
        book.add({**row, **core})
        for pool, seconds in runs.items():
            book.add({**row, "how": "parents", "pool": pool, "seconds": [seconds]})
    book.save()
    capsys.readouterr()
    print_report([tmp_path / "trees.json"], None, None, None)
    every, same = (
        line.split()[-4:]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("parents")
    )
    assert every == ["30.0", "(1)", "90.0", "(2)"]
    assert same == ["30.0", "(1)", "60.0", "(1)"]


def test_speed_ups_are_printed_beside_the_papers(found, tmp_path, capsys):
    path = tmp_path / "trees.json"
    book = Book(path)
    book.host = {"gpu": "NVIDIA H200"}
    row = {"instance": "ta021", "branching": "minmin", "pool": None, "exact": True}
    book.add({**row, "how": "core", "seconds": [60.0], "bounding_s": 57.0})
    book.add({**row, "how": "parents", "pool": 8192, "seconds": [0.5, 0.6, 0.4]})
    book.add({**row, "how": "3 threads", "seconds": [15.0]})
    book.save()
    capsys.readouterr()
    picture = tmp_path / "trees.png"
    print_report([path, path], 340.0, None, picture)
    assert picture.stat().st_size
    printed = capsys.readouterr().out
    assert "1 lists of 60 to 60 s there, 95.0 % of it bounding" in printed
    assert "120.0" in printed  # 60 s in 0.5 s
    assert "over as many cores of equal theoretical peak (100 cores) 1.20" in printed
    assert "61.5" in printed  # Melab III, 8192
    assert "4.43" in printed
