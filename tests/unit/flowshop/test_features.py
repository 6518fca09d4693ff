"""Set-ups, lags, buffers and ovens of flow shops, from the definition."""

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import dpbb
from dpbb.cli.plot import read_schedule
from dpbb.flowshop.features import FEATURES
from dpbb.flowshop.shop import OBJECTIVES
from dpbb.plotting import gantt, gantt_html
from dpbb.problem import kinds_of
from dpbb.problems import decoded, encoded
from dpbb.testing import check_model
from dpbb.text.labels import Names
from tests.unit.flowshop.test_shop import on_cpu
from tests.unit.modeling.test_cpu import counted

KINDS = ("setups", "late setups", "lags", "unlimited", "lags, unlimited", "buffers")
EACH = [*product(KINDS, OBJECTIVES, (False, True))]
each = pytest.mark.parametrize(("kind", "objective", "released"), EACH)


def random_shop(rng, kind, objective, released, size=None):
    """Draw a shop with zeros, ties and equal jobs."""
    n_jobs, n_machines = size or (rng.integers(2, 7), rng.integers(1, 6))
    top = int(rng.choice((3, 20)))
    times = rng.integers(0, top, (n_jobs, n_machines))
    row = OBJECTIVES[objective]
    how = {"release": rng.integers(0, 3 * top, n_jobs)} if released else {}
    if row.dated:
        how["due"] = rng.integers(0, int(times.sum() * rng.random()) + 2, n_jobs)
    if row.weighted:
        how["weights"] = rng.integers(0, rng.choice((2, 9)), n_jobs)
    if "setups" in kind:
        shape = n_jobs + rng.integers(2), n_jobs, n_machines
        how["setups"] = rng.integers(0, top, shape[: rng.integers(2, 4)])
        how["anticipatory"] = kind == "setups"
        if rng.random() < 0.3:  # two equal jobs
            other = how["setups"].copy()
            other[[0, n_jobs - 1]], times[0] = other[[n_jobs - 1, 0]], times[-1]
            other[:, [0, n_jobs - 1]] = other[:, [n_jobs - 1, 0]]
            how["setups"] = np.maximum(how["setups"], other)
    if "lags" in kind:
        how["lags"] = rng.integers(0, 2 * top, (n_jobs, n_machines - 1))
    if "unlimited" in kind:
        count = rng.integers(n_machines)
        how["unlimited"] = rng.choice(n_machines, count, replace=False).tolist()
    if kind == "buffers":
        how["buffers"] = rng.integers(0, 3, n_machines - 1)
    return dpbb.FlowShop(times, objective=objective, **how), how


def passes(times, how, order):
    """Starts, ends and departures by position: nobody waits longer than need be."""
    n_jobs, n_machines = len(times), len(times[0])
    setups = None
    if "setups" in how:
        setups = np.array(how["setups"])
        setups = setups if setups.ndim == 3 else setups[..., None].repeat(n_machines, 2)
    start, end, leave = np.zeros((3, n_jobs, n_machines), int)
    for i, job in enumerate(order):
        there = int(how.get("release", [0] * n_jobs)[job])
        for k in range(n_machines):
            free = leave[i - 1, k] if i else 0
            if setups is not None:
                gap = setups[order[i - 1], job, k] if i else 0
                if not i and len(setups) > n_jobs:
                    gap = setups[n_jobs, job, k]
                if how["anticipatory"]:
                    there = max(there, free + gap)
                else:
                    there = max(there, free) + gap
            elif k not in how.get("unlimited", ()):
                there = max(there, free)
            start[i, k] = there
            end[i, k] = leave[i, k] = there + times[job][k]
            if k + 1 == n_machines:
                continue
            places = how["buffers"][k] if "buffers" in how else n_jobs
            if places == 0 and i:
                leave[i, k] = max(leave[i, k], leave[i - 1, k + 1])
            elif places <= i:
                leave[i, k] = max(leave[i, k], start[i - places, k + 1])
            there = leave[i, k] + (how["lags"][job][k] if "lags" in how else 0)
    return start, end, leave


def costs_of(problem, objective, how):
    """Costs of all orders by the definition."""
    row, found = OBJECTIVES[objective], {}
    weights, due = (how.get(name) for name in ("weights", "due"))
    for order in permutations(range(problem.n_jobs)):
        times = problem.instance.times.tolist()
        costs = []
        for job, done in zip(order, passes(times, how, order)[1][:, -1], strict=True):
            late = int(done) - (0 if due is None else int(due[job]))
            late = max(0, late)
            late = int(late > 0) if row.counted else late
            costs.append(late * (1 if weights is None else int(weights[job])))
        found[order] = max(costs) if row.latest else sum(costs)
    return found


def check(kind, objective, released, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem, how = random_shop(rng, kind, objective, released)
        check_model(problem, nodes=20, engines=(), seed=seed)
        costs = costs_of(problem, objective, how)
        assert problem.evaluate_all(np.array(list(costs))).tolist() == [*costs.values()]
        found = dpbb.solve(
            problem, workers=0, engine="reference", heuristics="none", verbosity="quiet"
        )
        assert found.makespan == min(costs.values()) == costs[found.permutation]
        order = found.permutation
        schedule = problem.schedule(order)
        start, end, leave = passes(problem.instance.times.tolist(), how, order)
        assert (schedule.start[[*order]] == start).all()
        assert (schedule.end[[*order]] == end).all()
        if kind == "buffers":
            assert (schedule.leave[[*order]] == leave).all()


@each
def test_costs_and_optima_are_those_of_brute_force(kind, objective, released):
    check(kind, objective, released, range(1))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@each
def test_costs_and_optima_of_many_shops(kind, objective, released):
    check(kind, objective, released, range(1, 60))


def check_engine(kind, objective, released, explored, seeds):
    """Compare with the reference, node for node, and with brute force."""
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        problem, how = random_shop(rng, kind, objective, released, (6, 3))
        costs = costs_of(problem, objective, how)
        ub = min(costs.values()) + 1
        found = explored(problem, ub)
        assert found == counted(problem, "reference", ub)
        if kinds_of(problem) is None:
            optima = {(ub - 1, *order) for order, cost in costs.items() if cost < ub}
            assert found[3] == optima


@pytest.mark.parametrize(
    ("kind", "objective"),
    [("setups", "max-tardiness"), ("lags, unlimited", "weighted-tardiness")],
)
def test_the_compiled_search_counts_as_the_reference(kind, objective):
    check_engine(kind, objective, True, on_cpu, 3)


@pytest.mark.slow
@each
def test_every_compiled_search_counts_as_the_reference(kind, objective, released):
    check_engine(kind, objective, released, on_cpu, 10)


@each
def test_they_are_read_and_written(kind, objective, released):
    problem, _ = random_shop(np.random.default_rng(1), kind, objective, released)
    again = decoded(encoded(problem))
    assert again.digest == problem.digest
    assert problem.with_names(problem.names).digest == problem.digest
    plain = dpbb.FlowShop(problem.instance, objective=objective)
    assert (problem.digest == plain.digest) == (not problem.features.said())


def test_set_ups_are_part_of_being_equal():
    times = np.full((3, 2), 4)
    one = np.array([[0, 1, 2], [1, 0, 2], [5, 5, 0]])
    assert kinds_of(dpbb.FlowShop(times, setups=one)).tolist() == [0, 0, 1]
    one[0, 2] = 3
    assert kinds_of(dpbb.FlowShop(times, setups=one)) is None
    lags = [[1], [1], [2]]
    assert kinds_of(dpbb.FlowShop(times, lags=lags)).tolist() == [0, 0, 1]


def test_maximum_lateness_is_a_maximum_tardiness_of_earlier_dates():
    rng = np.random.default_rng(6)
    orders = np.array([*permutations(range(5))])
    for _ in range(20):
        times, due = rng.integers(0, 9, (5, 3)), rng.integers(10, 90, 5)
        shop = dpbb.FlowShop(times, objective="max-tardiness", due=due - due.min())
        ends = shop.features.passed(np.zeros(5, np.int64), orders)[1, ..., -1]
        lateness = (ends - due).max(axis=1)
        assert (shop.evaluate_all(orders) == lateness + due.min()).all()


def test_buffers_that_are_enough_are_none():
    times = np.random.default_rng(2).integers(1, 9, (5, 3))
    orders = np.array(list(permutations(range(5))))
    wide, plain = (
        dpbb.FlowShop(times, **how) for how in ({"buffers": [4, 9]}, {"lags": None})
    )
    assert (wide.evaluate_all(orders) == plain.evaluate_all(orders)).all()
    assert dpbb.FlowShop(times, buffers="0,0").digest == (
        dpbb.FlowShop(times, blocking=True).digest
    )


SETUPS = [[0, 1], [2, 0]]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            {"setups": [[0, 1, 2], [1, 0, 2]]},
            r"setups: .* of shape \(2, 2\) or .*\(2, 3\)",
        ),
        ({"setups": [[0, 1], [2]]}, "setups: .* got rows of several lengths"),
        ({"setups": [[0, -1], [2, 0]]}, r"setups\[0\]\[1\]: expected .*>= 0, got -1"),
        ({"setups": [[0, None], [2, 0]]}, r"setups\[0\]\[1\]: .* got None"),
        ({"setups": [[0, float("nan")], [2, 0]]}, r"setups\[0\]\[1\]: .* got nan"),
        ({"lags": [[1, 2], [3, 0.5]]}, r"lags\[1\]\[1\]: expected a whole .* got 0.5"),
        ({"lags": [[1], [3]]}, r"lags: .* of shape \(2, 2\), got the shape \(2, 1\)"),
        ({"lags": [[2**30, 0], [0, 0]]}, "lags: expected numbers up to"),
        ({"lags": [[2**28, 0], [0, 0]]}, "sums below 536,870,912"),
        ({"buffers": [1]}, "buffers: expected 2 numbers of places, .* got 1"),
        ({"buffers": 3}, "buffers: expected 2 numbers of places, .* got 3"),
        ({"buffers": "1,x"}, "buffers, behind machine 1: .* got 'x'"),
        ({"unlimited": [7]}, "unlimited: expected machines of 0 to 2, got 7"),
        ({"unlimited": 1}, "unlimited: expected a list of machines, got 1"),
        ({"unlimited": "0,1,2"}, "unlimited: expected a machine of one job at a time"),
        ({"setups": SETUPS, "blocking": True}, r"without setups \(either alone"),
        ({"setups": SETUPS, "lags": [[0, 0]] * 2}, "setups without lags"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(how, said):
    with pytest.raises(dpbb.InstanceError, match=said):
        dpbb.FlowShop([[1, 2, 3], [3, 4, 5]], **how)


def test_every_pair_goes_together_or_is_refused():
    given = {
        "blocking": True,
        "buffers": [1, 0],
        "setups": SETUPS,
        "lags": [[1, 2], [0, 1]],
        "unlimited": [1],
    }
    assert given.keys() == FEATURES.keys()
    for one, two in permutations(given, 2):
        alone = two in FEATURES[one].alone or one in FEATURES[two].alone
        how = {name: given[name] for name in (one, two)}
        if alone:
            with pytest.raises(dpbb.InstanceError, match="either alone is there"):
                dpbb.FlowShop([[1, 2, 3], [3, 4, 5]], **how)
        else:
            check_model(dpbb.FlowShop([[1, 2, 3], [3, 4, 5]], **how), engines=())


def test_tables_are_files(tmp_path):
    shop = tmp_path / "shop.csv"
    shop.write_text("job,cut,bake\nA,3,2\nB,4,1\n")
    setups, lags = tmp_path / "setups.csv", tmp_path / "lags.csv"
    setups.write_text("from,A,B\nA,0,7\nB,2,0\nnone,1,1\n")
    lags.write_text("job,cut\nA,5\nB,6\n")
    found = dpbb.FlowShop(shop, setups=setups)
    assert found.digest == dpbb.FlowShop(shop, setups=[[0, 7], [2, 0], [1, 1]]).digest
    found = dpbb.FlowShop(shop, lags=lags, unlimited="bake")
    same = dpbb.FlowShop([[3, 2], [4, 1]], lags=[[5], [6]], unlimited=[1])
    assert found.digest == same.digest
    setups.write_text("from,B,A\nB,0,7\nA,2,0\n")
    with pytest.raises(dpbb.InstanceError, match="jobs as they follow in shop: A, got"):
        dpbb.FlowShop(shop, setups=setups)
    setups.write_text("from,A,B\nA,0,\nB,2,0\n")
    with pytest.raises(dpbb.InstanceError, match=r"setups\.csv, line 2, cell 3"):
        dpbb.FlowShop(shop, setups=setups)
    both = tmp_path / "setups.json"
    both.write_text('[{"times": [[0, 7], [2, 0]]}, {"times": [[0, 3], [4, 0]]}]')
    found = dpbb.FlowShop(shop, setups=both)
    assert found.features.setups[0, 1].tolist() == [7, 3]
    both.write_text('[{"times": [[0]]}, {"times": [[0]]}, {"times": [[0]]}]')
    with pytest.raises(dpbb.InstanceError, match="for all machines or 2 tables"):
        dpbb.FlowShop(shop, setups=both)


SHOPS = Path(__file__).parents[3] / "examples/shops"


@pytest.mark.parametrize(
    ("file", "how", "cost"),
    [
        (
            "paint.csv",
            {"setups": SHOPS / "paint-setups.json", "objective": "total-tardiness"},
            125,
        ),
        (
            "bakery.csv",
            {"lags": SHOPS / "bakery-lags.csv", "unlimited": "proof,cool"},
            258,
        ),
        ("deadlines.csv", {"objective": "max-tardiness"}, 0),
    ],
)
def test_the_shops_of_the_page_have_these_optima(file, how, cost):
    shop = dpbb.FlowShop(SHOPS / file, **how)
    orders = np.array([*permutations(range(shop.n_jobs))], np.intp)
    assert shop.evaluate_all(orders).min() == cost


@pytest.mark.parametrize("anticipatory", [True, False])
def test_set_ups_and_dates_are_in_every_form_of_a_schedule(anticipatory, tmp_path):
    names = Names(("=A", "B", "C"), ("cut", "weld"))
    dates = {"release": [1, 0, 6], "due": [99, 6, 9]}
    shop = dpbb.FlowShopInstance("s", [[4, 2], [3, 5], [1, 1]], names, dates)
    problem = dpbb.FlowShop(
        shop,
        objective="total-tardiness",
        setups=[[0, 3, 1], [2, 0, 0], [4, 1, 0], [1, 2, 0]],
        anticipatory=anticipatory,
    )
    result = dpbb.solve(problem, workers=0, engine="reference", verbosity="quiet")
    schedule, order = result.schedule(), result.permutation
    job, other = order[:2]
    gap = problem.features.setups[job, other].tolist()
    assert schedule.setup[other].tolist() == gap
    free, there = schedule.end[job], [schedule.release[other], schedule.end[other, 0]]
    begun = schedule.start[other] - gap
    assert (begun >= (free if anticipatory else np.maximum(free, there))).all()
    tardy = np.maximum(schedule.tables["lateness"], 0)
    assert tardy.sum() == result.makespan > 0

    schedule.write(tmp_path / "s.csv")
    text = (tmp_path / "s.csv").read_text()
    head, *lines = text.splitlines()
    assert head == "position,job,machine,start,end,setup,release,due,lateness"
    assert [line.rpartition(",")[2] for line in lines] == [
        str(schedule.tables["lateness"][job]) for job in order for _ in range(2)
    ]
    again = dpbb.Result.from_json(result.to_json()).schedule()
    assert again.tables.keys() == schedule.tables.keys()
    for name, table in schedule.tables.items():
        assert (again.tables[name] == table).all()
    read = read_schedule(text, "s.csv")
    assert [*read.rows()] == [*schedule.rows()]
    assert str(read).split()[:6] == ["job", "cut", "weld", "release", "due", "lateness"]
    for old, new in ((",6,", ",7,"), (f"{lines[0]}\n", f"{lines[0]}0\n")):
        with pytest.raises(dpbb.OptionError, match="line 2: expected position"):
            read_schedule(text.replace(old, new, 1), "s.csv")

    axes = gantt(result)
    said = [one.get_text() for one in axes.get_legend().get_texts()]
    assert {"set-up", "late", "release date", "due date"} <= {*said}
    marks = [one for one in axes.collections if one.get_label() == "due date"]
    assert marks[0].get_offsets()[:, 0].tolist() == [6, 9]  # 99 is beyond the end
    frames = [one for one in axes.patches if one.get_label() == "late"]
    assert len(frames) == (schedule.end > schedule.due[:, None]).sum()
    page = gantt_html(result)
    assert all(word in page for word in ("set-up from", "@release", "late by"))
