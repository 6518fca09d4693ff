"""Flow shops with dates, weights, set-ups and more, for checker.py, which is beside it.

A bound of a node is the largest of one machine each: what is left passes it without
gaps, in the order that is best there, and what comes behind it is added. Everything is
computed anew from the two ends of a node and the jobs that are left. A *stage* is a
machine of one job at a time, or a place of a buffer, which takes no time.
"""

import hashlib
import struct

LATEST = {"makespan": "makespan", "max-tardiness": "maximum tardiness"}
SUMS = {
    "total-completion": "total completion time",
    "weighted-completion": "weighted completion time",
    "total-tardiness": "total tardiness",
    "weighted-tardiness": "weighted tardiness",
    "late-jobs": "late jobs",
    "weighted-late-jobs": "weighted late jobs",
}
OBJECTIVES = LATEST | SUMS
FEATURES = "blocking", "buffers", "setups", "anticipatory", "lags", "unlimited"
DATES = "release", "due", "weight"
MOST_STAGES, MOST_COST = 100, 2**29
BIG = 2**31 - 1  # bound of what is no child
FORM = {
    "objective": str,
    "dates": {"release?": [int], "due?": [int], "weight?": [int]},
    **{"blocking?": bool, "buffers?": [int], "setups?": [[[int]]]},
    **{"anticipatory?": bool, "lags?": [[int]], "unlimited?": [int]},
}
"""Entries of an instance besides those of the makespan."""


def digest_of(instance):
    """SHA-256 of kind, objective, features, times and dates."""
    times = instance["times"]
    content = hashlib.sha256(b"dpbb flow shop 1\n")
    for row in ((len(times), len(times[0])), *times):
        content.update(struct.pack(f"<{len(row)}q", *row))
    for name in DATES:
        if (row := instance["dates"].get(name)) is not None:
            content.update(name.encode() + struct.pack(f"<{len(row)}q", *row))
    parts = ["flow-shop", instance["objective"]]
    for name in (*FEATURES, "front", "back"):
        if (one := instance.get(name)) is not None:
            parts.append(name if one is True else f"{name} {one}")
    text = " ".join([*parts, content.hexdigest()])
    return hashlib.sha256(text.encode()).hexdigest()


def said(instance):
    """Return the objective, and what there is besides the times."""
    there = [name for name in DATES if instance["dates"].get(name) is not None]
    there += [name for name in FEATURES if instance.get(name) is not None]
    return f"{instance['objective']!a:.99} with {', '.join(there) or 'times alone'}"


def check_shape(instance, expect):
    """Check that all tables and lists fit the times, and go together."""
    times, n, m = instance["times"], len(instance["times"]), len(instance["times"][0])
    has = {name: instance.get(name) for name in FEATURES}
    objective, dates = instance["objective"], instance["dates"]
    expect(objective in OBJECTIVES, f"expected an objective, got {objective!a}")
    needed = {"due"} if "tardiness" in objective or "late" in objective else set()
    needed |= {"weight"} if "weighted" in objective else set()
    ok = needed == {*dates} - {"release"}
    ok = ok and all(len(row) == n for row in dates.values())
    expect(ok, f"expected dates and weights of {objective}, got {[*dates]!a:.99}")
    sizes = (
        ("buffers", [m - 1], has["buffers"]),
        ("lags", [n, m - 1], has["lags"]),
        ("setups", [n + 1, n, m], has["setups"]),
    )
    for name, size, table in sizes:
        rows = [] if table is None else [table]
        for length in size:
            ok = all(len(row) == length for row in rows)
            expect(ok, f"expected {name} of a shop of {n} jobs and {m} machines")
            rows = [one for row in rows if isinstance(row, list) for one in row]
    machines = has["unlimited"]
    ok = machines is None or (0 < len({*machines}) == len(machines) < m)
    ok = ok and (machines is None or [*machines] == sorted({*machines} & {*range(m)}))
    expect(ok, "expected machines of unlimited capacity, ascending, and not all")
    alone = {"blocking": has["blocking"], "buffers": has["buffers"]}
    alone = [name for name, one in alone.items() if one is not None]
    alone += ["setups"] if has["setups"] is not None else []
    others = [name for name in ("lags", "unlimited") if has[name] is not None]
    expect(len(alone) < 2 and not (alone and others), "features do not go together")
    ok = has["blocking"] in (None, True) and has["anticipatory"] in (None, False)
    ok = ok and (has["anticipatory"] is None or has["setups"] is not None)
    expect(ok, "expected blocking true, anticipatory false with set-ups, or neither")
    stages = sum(has["buffers"] or ())
    expect(stages <= MOST_STAGES, f"expected at most {MOST_STAGES} places of buffers")
    rows = [row for name, row in dates.items() if name != "weight"]
    steps = sum(map(sum, times)) + sum(max(row) for row in [[0], *rows])
    for table in (has["lags"], *(has["setups"] or ())):
        steps += sum(map(sum, table or ()))
    most = (n + 1) * steps * (max(dates.get("weight") or [1]) or 1)
    expect(most < 2**62, "numbers are too large")


def shop_of(certificate, expect):
    """Check the instance and what the tree says of it; returns the shop."""
    instance, tree = certificate["instance"], certificate["tree"]
    check_shape(instance, expect)
    ok = digest_of(instance) == instance["digest"]
    expect(ok, "the digest is not that of the shop")
    shop = FeatureShop(instance)
    words, got = OBJECTIVES[shop.objective], certificate["result"].get("objective")
    expect(got == words, f"expected {words}, got {got!a}")
    sided = tree["branching"] == "front" or shop.both
    expect(sided, f"expected a tree from the front, got {tree['branching']!a}")
    ok = tree["trivial_ub"] < MOST_COST
    expect(ok, f"costs may reach {MOST_COST} or more")
    return shop


class FeatureShop:
    """A shop as the tree sees it: its costs, and the tables of both sides."""

    def __init__(self, instance):
        self.times, self.dates = instance["times"], instance["dates"]
        self.n, self.m = len(self.times), len(self.times[0])
        none = [0] * self.n
        self.release = self.dates.get("release", none)
        self.due = self.dates.get("due", none)
        self.weights = self.dates.get("weight", [1] * self.n)
        self.objective = instance["objective"]
        self.buffers = instance.get("buffers")
        if instance.get("blocking"):
            self.buffers = [0] * (self.m - 1)
        self.setups, self.lags = instance.get("setups"), instance.get("lags")
        self.ahead = instance.get("anticipatory") is None
        self.unlimited = {*(instance.get("unlimited") or ())}
        self.front, self.back = (instance.get(side) or [] for side in ("front", "back"))
        given = self.front or self.back
        sided = given or (self.setups and not self.ahead)
        self.both = self.objective in LATEST and not sided
        self.kinds = self.kinds_of()
        self.functions = functions

    # -- costs -------------------------------------------------------------------------

    def completions(self, order):
        """When jobs are completed, each operation as early as may be."""
        ends, free, last = {}, [0] * self.m, self.n
        held = [[0] * places for places in self.buffers or ()]
        for job in order:
            at = self.release[job]
            if self.buffers is not None:
                at = max(at, free[0])
            for k in range(self.m):
                if self.setups:
                    gap = self.setups[last][job][k]
                    before, after = (gap, 0) if self.ahead else (0, gap)
                    at = max(at, free[k] + before) + after
                elif self.buffers is None and k not in self.unlimited:
                    at = max(at, free[k])
                at = done = at + self.times[job][k]
                if k < len(held):  # into the first place, or onto the next machine
                    way = [*held[k], free[k + 1]]
                    free[k] = at = max(at, way[0])
                    for place in range(len(held[k])):
                        held[k][place] = at = max(at, way[place + 1])
                else:
                    free[k] = at
                if self.lags and k + 1 < self.m:
                    at += self.lags[job][k]
            ends[job], last = done, job
        return ends

    def makespan(self, order):
        """Cost of a sequence."""
        ends = order[: len(self.front)], order[self.n - len(self.back) :]
        if [*map(list, ends)] != [self.front, self.back]:
            raise ValueError(f"the given jobs are not at the ends of {order}")
        ends = self.completions(order).items()
        late = {job: max(0, end - self.due[job]) for job, end in ends}
        if self.objective in LATEST:
            return max(late.values())
        if "late" in self.objective:
            late = {job: one > 0 for job, one in late.items()}
        return sum(one * self.weights[job] for job, one in late.items())

    # -- what the tree needs -----------------------------------------------------------

    def stages(self):
        """Return times and lags by job and stage, and time before and behind them."""
        times, lags, before, behind = [], [], [], []
        for job, row in enumerate(self.times):
            between = [*(self.lags[job] if self.lags else [0] * (self.m - 1)), 0]
            if self.buffers is not None:
                places = [[0] * size for size in (*self.buffers, 0)]
                row = [one for k, time in enumerate(row) for one in (time, *places[k])]
                between = [0] * len(row)
            kept, gaps, ahead, gap = [], [], 0, 0
            for k, time in enumerate(row):
                if k in self.unlimited:
                    gap += time + between[k]
                    continue
                if kept:
                    gaps.append(gap)
                else:
                    ahead = gap
                kept.append(time)
                gap = between[k]
            times.append(kept)
            lags.append([*gaps, 0])
            before.append(ahead)
            behind.append(gap)
        return times, lags, before, behind

    def kinds_of(self):
        """Return what jobs of which any two may be exchanged have in common."""
        tables = self.times, self.lags or [()] * self.n, *self.dates.values()
        rows, found = [*zip(*tables)], []
        for job, row in enumerate(rows):
            known = (one for one in range(job) if found[one] == one)
            equal = (one for one in known if rows[one] == row and self.alike(job, one))
            found.append(next(equal, job))
        for job in (*self.front, *self.back):  # equal to no other
            found[job] = self.n + job
        return found

    def alike(self, job, other):
        """Whether set-ups stay when two jobs are exchanged."""
        if not self.setups:
            return True
        new = [*range(self.n + 1)]
        new[job], new[other] = other, job
        return self.setups == [
            [self.setups[row][column] for column in new[:-1]] for row in new
        ]

    def tables(self, order, _bound, _pad):
        """Return the root, and switches, numbers and tables, jobs in this order."""
        n, order = self.n, [*order]
        times, lags, before, behind = (
            [table[job] for job in order] for table in self.stages()
        )
        size = len(times[0])
        name = self.objective
        latest, counted = name in LATEST, "late" in name
        dated, weighted = counted or "tardiness" in name, "weighted" in name
        tardy = dated and not latest and not counted
        release = [self.release[job] + b for job, b in zip(order, before)]
        due, weights = ([row[job] for job in order] for row in (self.due, self.weights))
        if not latest:  # a last lag is part of the cost
            for row, own in zip(lags, behind):
                row[-1] = own
            behind = [0] * n
        set_up = bool(self.setups)
        ahead = set_up and self.ahead
        released = "release" in self.dates or any(before) or any(behind)
        released = released or (dated and latest)
        alone = not latest and (released or (dated and weighted))
        base = max(due)
        delivery = [base - d + b for d, b in zip(due, behind)]
        zero = [0] * size
        setups = [[zero] * (n + 1)] * (n + 1)
        filled = filled_out = times
        into = out = [zero] * (n + 1)
        first = [zero] * n
        if set_up:
            rows = [self.setups[job] for job in (*order, n)]
            rows = [[row[job] for job in order] for row in rows]
            first = rows[n]
            setups = [[*row, zero] for row in rows]
            columns = enumerate(zip(*rows[:n]))
            into = [*(least(column, j, size) for j, column in columns), zero]
            out = [*(least(row, j, size) for j, row in enumerate(rows[:n])), zero]
            filled = [[*map(sum, zip(*two))] for two in zip(times, into)]
            filled_out = [[*map(sum, zip(*two))] for two in zip(times, out)]
        views, roots = [], []
        for side in range(2):
            heads = [
                begin_of(release[j], times[j], lags[j], first[j], ahead)
                for j in range(n)
            ]
            root = [*map(min, zip(*heads))]
            if set_up and ahead and side == 0:
                setups = [
                    *setups[:n],
                    [[max(0, f - r) for f, r in zip(row, root)] for row in first]
                    + [zero],
                ]
            way = [
                r + sum(t) + sum(g) + d
                for r, t, g, d in zip(release, times, lags, delivery)
            ]
            roots.append([*root, max(way) if latest and released else 0, 0, n])
            views.append((times, lags, release, delivery, setups))
            setups = [[row[j][::-1] for row in setups] for j in range(n + 1)]
            times = [row[::-1] for row in times]
            lags = [[*row[:-1][::-1], row[-1]] for row in lags]
            release, delivery = delivery, release
            first = [zero] * n
        times, lags, release, *_ = views[0]
        path = times if ahead else filled
        after = [
            [sum(p[k + 1 :]) + sum(g[k:]) for k in range(size)]
            for p, g in zip(path, lags)
        ]
        rest = [[*map(sum, zip(*two))] for two in zip(filled, after)]
        later = [[w * one for one in row] for w, row in zip(weights, after)]
        early = [[d - one for one in row] for d, row in zip(due, after)]
        ready = [r + sum(p) + sum(g) for r, p, g in zip(release, path, lags)]
        rule = [
            [(w == 0, one / (w or 1)) for one in row] for w, row in zip(weights, filled)
        ]
        by_rule, by_time, by_date = (
            [sorted(range(n), key=lambda j: table[j][k]) for k in range(size)]
            for table in (rule, filled, early)
        )
        by_weight = sorted(range(n), key=weights.__getitem__)
        tail = [*map(min, zip(*after))]
        if self.back:
            tail = after[order.index(self.back[-1])]
        slot, place = [n] * n, [n] * n  # by position and job; given ones have their own
        behind = enumerate(self.back, n - len(self.back))
        for at, job in (*enumerate(self.front), *behind):
            slot[at] = place[order.index(job)] = at
        flags = (
            *(latest, self.both, released, set_up, ahead, self.buffers is not None),
            *(weighted, counted, tardy, not dated and not latest, alone),
        )
        numbers = [n, size, base, min(weights)]
        tables = (
            [*map(int, flags)],
            numbers,
            *map(list, zip(*views)),
            *(filled, filled_out, into, out, tail),
            *(rest, later, early, ready, due, weights),
            *(by_rule, by_time, by_date, by_weight, slot, place),
        )
        return (roots, [0]), tables, (), ()


def least(rows, without, size):
    """Least of all rows but one, by columns; 0 of none."""
    others = [*rows[:without], *rows[without + 1 :]]
    return [*map(min, zip(*others))] if others else [0] * size


def begin_of(at, times, lags, first, ahead):
    """When a job begins on each stage if it is the first one."""
    found = []
    for time, lag, gap in zip(times, lags, first):
        at = max(at, gap) if ahead else at
        found.append(at)
        at += time + lag + (0 if ahead else gap)
    return found


def functions(jit, sided):
    """Return look and step of checker.kernels for these shops.

    ``ends`` has for each side its stages, by the stages in reverse behind; then the
    largest lateness so far, the cost, and the job that was taken last, or the number of
    jobs. ``jit`` compiles a function or leaves it; ``sided`` takes a side by bounds.
    """

    @jit
    def cost_of(tables, job, end):
        """Cost of a job that is completed then."""
        flags, due, weights = tables[0], tables[16], tables[17]
        weight = weights[job] if flags[6] else 1
        if flags[9]:
            return weight * end
        late = max(0, end - due[job])
        return weight * (late if flags[8] else min(late, 1))

    @jit
    def passed(tables, side, job, ends, found):
        """Pass the stages after what a side has."""
        flags, size = tables[0], tables[1][1]
        times, lags, setups = tables[2][side], tables[3][side], tables[6][side]
        end, before = tables[4][side][job], ends[size + 2]
        if flags[5]:
            end = max(end, ends[0])
            for k in range(size - 1):
                end = max(end + times[job][k], ends[k + 1])
                found[k] = end
            end += times[job][size - 1]
            found[size - 1] = end
        else:
            for k in range(size):
                gap = setups[before][job][k] if flags[3] else 0
                if flags[4]:
                    end = max(end, ends[k] + gap) + times[job][k]
                else:
                    end = max(end, ends[k]) + gap + times[job][k]
                found[k] = end
                end += lags[job][k]
        found[size], found[size + 1] = ends[size], ends[size + 1]
        if flags[0] and flags[2]:
            found[size] = max(ends[size], end + tables[5][side][job])
        if not flags[0]:
            found[size + 1] += cost_of(tables, job, end)
        found[size + 2] = job

    @jit
    def latest_of(tables, ahead, behind, gone, taken, left):
        """Bound of what is latest."""
        flags, (n, size, base, _) = tables[0], tables[1]
        setups, filled, filled_out = tables[6][0], tables[7], tables[8]
        into, out_of, tail = tables[9], tables[10], tables[11]
        one, two, most = ahead[size + 2], behind[size + 2], 0
        if flags[2]:
            most = max(ahead[size], base)
            if flags[1]:
                most = max(most, behind[size])
        for k in range(size):
            rest = out = ahead[k]
            for i in range(n):
                if gone[i] == 0 and i != taken:
                    rest += filled[i][k]
                    out += filled_out[i][k]
            rest += behind[size - 1 - k] if flags[1] else tail[k]
            if flags[1] and flags[3]:
                rest = rest + into[two][k] if one < n else 0
                out += behind[size - 1 - k] + out_of[one][k]
                rest = max(rest, out if two < n else 0)
                if left == 0:
                    both = setups[one][two][k]
                    rest = max(rest, ahead[k] + both + behind[size - 1 - k])
            most = max(most, rest)
        if flags[2]:
            most -= base
        return most if one < n or not flags[3] or flags[1] else 0

    @jit
    def sum_of(tables, ahead, gone, taken, left):
        """Bound of a sum: what was, and the most that one machine says of the rest."""
        flags, (n, size, _, lightest) = tables[0], tables[1]
        filled, later, early, weights = tables[7], tables[13], tables[14], tables[17]
        most = 0
        for k in range(size):
            free, rest, alone = ahead[k], 0, 0
            if flags[9]:
                at = free
                for i in tables[18][k]:
                    if gone[i] == 0 and i != taken:
                        at += filled[i][k]
                        rest += weights[i] * at + later[i][k]
            if flags[10]:
                for i in range(n):
                    if gone[i] == 0 and i != taken:
                        end = free + tables[12][i][k]
                        if flags[2]:
                            end = max(end, tables[15][i])
                        alone += cost_of(tables, i, end)
            by_time, by_date, at, b = tables[19][k], tables[20][k], free, -1
            if flags[8] or flags[7]:
                count = 0
                for i in by_time:
                    if gone[i] == 0 and i != taken:
                        at += filled[i][k]
                        b += 1
                        while gone[by_date[b]] != 0 or by_date[b] == taken:
                            b += 1
                        date, count = early[by_date[b]][k], count + 1
                        if flags[8]:
                            rest += max(0, at - date)
                        else:  # of so many jobs with the earliest dates
                            end, seen, late = free, 0, 0
                            for j in by_time:
                                if gone[j] == 0 and j != taken and seen < count:
                                    end += filled[j][k]
                                    seen += 1
                                    late += end > date
                            rest = max(rest, late)
            if flags[8] and flags[6]:
                rest *= lightest
            if flags[7] and flags[6]:
                late, rest = rest, 0
                for i in tables[21]:
                    if gone[i] == 0 and i != taken and late > 0:
                        rest += weights[i]
                        late -= 1
            most = max(most, rest, alone)
        return most * (ahead[size + 2] < n or not flags[3]) + ahead[size + 1]

    @jit
    def bound_of(tables, ahead, behind, gone, taken):
        """Bound of a node; of a leaf its cost."""
        left = 0
        for i in range(tables[1][0]):
            left += gone[i] == 0 and i != taken
        if tables[0][0]:
            return latest_of(tables, ahead, behind, gone, taken, left)
        return sum_of(tables, ahead, gone, taken, left)

    @jit
    def look(tables, options, depth, ends, _work, gone, found):
        """Compute the bounds of all children, and return the side that is taken."""
        shop, new = tables[0], [0] * len(ends[0])
        for i in range(len(gone)):
            found[0][i] = found[1][i] = gone[i]
            if gone[i] == 0 and shop[22][depth] != shop[23][i]:
                found[0][i] = BIG
            elif gone[i] == 0:
                passed(shop, 0, i, ends[0], new)
                found[0][i] = bound_of(shop, new, ends[1], gone, i)
                if shop[0][1]:
                    passed(shop, 1, i, ends[1], new)
                    found[1][i] = bound_of(shop, ends[0], new, gone, i)
        return sided(tables[1], options, depth, gone, found)

    @jit
    def step(tables, side, job, depth, ends, _work, _gone, _ub):
        """Schedule a job; no bound of the child is dearer."""
        old, new = ends[depth - 1], ends[depth]
        for k in range(len(old[0])):
            new[1 - side][k] = old[1 - side][k]
        passed(tables[0], side, job, old[side], new[side])
        return True

    return look, step
