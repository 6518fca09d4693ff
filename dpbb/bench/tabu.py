"""Tabu search on a GPU: what shared columns gain, over the grid of the founding paper.

Sizes and generations are those of "Avoiding duplicated computation to improve the
performance of PFSP on CUDA GPUs", the instances of Taillard's generator. Every way
makes the same moves, which is checked; the exit code is 1 when one does not. Times are
of whole searches, after compilation. The paper's speed-ups (Tesla C2050, 16 / 48 KB of
shared memory) stand beside; no sharing of prefixes can gain more than 1.5, of prefixes
and tails 3.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbb.bench.common import Machine, check_counts, find_gpu, write_json
from dpbb.flowshop.heuristics.tabu.gpu import Shape
from dpbb.flowshop.heuristics.tabu.search import make_rules, make_search, make_starts
from dpbb.flowshop.heuristics.tabu.state import State
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.taillard import generate
from dpbb.kernels.cores import physical_cores

PAPER: dict[str, tuple[str, str, str]] = {
    "15x100": ("0.82/0.83", "0.65/0.64", "0.61/0.61"),
    "20x150": ("0.94/0.95", "0.87/0.87", "0.85/0.85"),
    "25x200": ("1.01", "1.03", "1.03"),
    "25x350": ("1.11/1.12", "1.28", "1.33"),
    "30x500": ("1.15/1.14", "1.3", "1.34"),
    "30x650": ("1.15/1.14", "1.32", "1.36"),
    "35x800": ("1.2", "1.35/1.34", "1.37"),
    "40x900": ("1.31", "1.47", "1.5"),
}
"""Machines x jobs, and the paper's speed-ups of prefixes after 10, 100, 1000."""

GENERATIONS = (10, 100, 1000)
SEEDS = (101, 202, 303)
WAYS = ("none", "prefix", "both", "insert")
PARTS = ("grid", "batch", "cpu", "list", "carveout")
CARVED_SIZES = ("25x350", "40x900")
CPU_S = 0.7


@dataclass(slots=True)
class Row:
    """One search that was timed.

    Parameters
    ----------
    part, size, seed, way, generations, searches
        What it was.
    device
        ``"gpu"``, or the threads of the CPU: ``"cpu 16"``.
    arm
        How the kernel was launched; empty: as usual.
    seconds, neighbours_per_s
        Of the generations, without compilation.
    value
        The best that was found.
    moves
        A checksum of the first moves, equal for all that do the same.
    """

    part: str
    size: str
    seed: int
    way: str
    generations: int
    searches: int
    device: str
    arm: str
    seconds: float
    neighbours_per_s: float
    value: int
    moves: int

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells rows apart."""
        return tuple(
            getattr(self, name)
            for name in (
                *("part", "size", "seed", "way", "generations", "searches"),
                *("device", "arm"),
            )
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the suite's arguments."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--sizes", nargs="+", choices=PAPER, default=list(PAPER))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--generations", nargs="+", type=int, default=list(GENERATIONS))
    parser.add_argument(
        "--searches", type=int, default=264, help="side by side, of the part batch"
    )
    parser.add_argument(
        "--budget-s", type=float, default=280.0, help="nothing is begun after so long"
    )
    parser.add_argument(
        "--json", type=Path, help="write the rows here; what is there is not repeated"
    )


def run(args: argparse.Namespace) -> int:
    """Run the suite; returns 0 unless two ways differ or a part failed."""
    check_counts(args, "generations", "seeds", "searches")
    return Bench(args).measure()


class Bench:
    """Measures what is asked for, as far as the time goes."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.rows: list[Row] = []
        self.failures: list[str] = []
        self.left_out = 0
        self.device = ""
        self.cores = physical_cores()
        self.ends = time.perf_counter() + args.budget_s
        self.planned: list[tuple[Row, str, Shape | None]] = []
        if args.json is not None and args.json.exists():
            known = json.loads(args.json.read_text(encoding="utf-8"))
            self.rows = [Row(**row) for row in known["rows"]]

    def measure(self) -> int:
        """Measure, print and write."""
        print(Machine.this())
        cupy, name = find_gpu()
        self.device = "" if cupy is None else name
        parts = {
            "grid": self._grid,
            "list": self._list,
            "batch": self._batch,
            "carveout": self._carveouts,
        }
        for name, plan in parts.items():
            if name in self.args.parts:
                plan()
        self._compile()
        for part in PARTS:
            if part == "cpu" and part in self.args.parts:
                self._cpu()
            for row, tabu, shape in self.planned:
                if row.part == part:
                    self._timed(row, tabu, shape)
            self._write()
        self._check()
        self._print()
        return int(bool(self.failures))

    def _grid(self) -> None:
        for size, seed in self._instances():
            for way in self.args.ways:
                for generations in self.args.generations:
                    self._gpu("grid", size, seed, way, generations)

    def _list(self) -> None:
        """Repeat a column of the grid with the paper's list: whole permutations."""
        for size, seed in self._instances():
            for way in self.args.ways:
                self._gpu("list", size, seed, way, 100, tabu="permutations")

    def _batch(self) -> None:
        for size, seed in self._instances():
            machines, jobs = (int(one) for one in size.split("x"))
            generations = max(2, min(100, int(1e10 / (jobs**3 * machines))))
            for way in self.args.ways:
                many = self.args.searches
                self._gpu("batch", size, seed, way, generations, searches=many)

    def _cpu(self) -> None:
        for size, seed in self._instances():
            for way in self.args.ways:
                self._on_cores(size, seed, way)

    def _carveouts(self) -> None:
        """Plan the paper's 16 and 48 KB of shared memory, of 256 KiB there are."""
        shapes = [Shape(shared_steps=False, carveout=share) for share in (7, 21)]
        for size, seed in self._instances():
            for way in self.args.ways if size in CARVED_SIZES else ():
                for shape in (None, *shapes):
                    for many in (1, self.args.searches):
                        case = size, seed, way, 50 if many == 1 else 2
                        self._gpu("carveout", *case, searches=many, shape=shape)

    def _instances(self) -> Iterator[tuple[str, int]]:
        for size in self.args.sizes:
            for seed in self.args.seeds:
                yield size, seed

    def _gpu(
        self,
        part: str,
        size: str,
        seed: int,
        way: str,
        generations: int,
        *,
        searches: int = 1,
        tabu: str = "pairs",
        shape: Shape | None = None,
    ) -> None:
        if not self.device:
            return
        arm = "" if shape is None else repr(shape).replace("Shape", "")
        row = Row(
            *(part, size, seed, way, generations, searches, "gpu", arm, 0.0, 0.0, 0, 0)
        )
        if all(known.key != row.key for known in self.rows):
            self.planned.append((row, tabu, shape))

    def _compile(self) -> None:
        """Compile all kernels, side by side, before anything is timed."""
        kernels: dict[Any, tuple[Row, str, Shape | None]] = {}
        for row, tabu, shape in self.planned:
            key = row.size, row.way, tabu, row.searches, shape
            kernels.setdefault(key, (row, tabu, shape))

        def compiled(plan: tuple[Row, str, Shape | None]) -> None:
            row, tabu, shape = plan
            shop = instance_of(row.size, row.seed)
            starts = make_starts(shop, range(shop.n_jobs), row.searches, row.seed)
            with suppress(Exception):  # told when it is to be timed
                make_search(_rules(shop, row.way, tabu), starts, "gpu", shape=shape)

        began = time.perf_counter()
        with ThreadPoolExecutor(self.cores) as pool:
            list(pool.map(compiled, kernels.values()))
        if kernels:
            seconds = time.perf_counter() - began
            print(f"{len(kernels)} kernels compiled in {seconds:.0f} s", flush=True)

    def _on_cores(self, size: str, seed: int, way: str) -> None:
        """Measure as many generations as last for ``CPU_S``, at least one."""
        row = Row(
            *("cpu", size, seed, way, 0, 1, f"cpu {self.cores}", "", 0.0, 0.0, 0, 0)
        )
        if any(known.key[:4] == row.key[:4] for known in self.rows):
            return
        if time.perf_counter() > self.ends:
            self.left_out += 1
            return
        shop = instance_of(size, seed)
        rules = _rules(shop, way, "pairs")
        starts = make_starts(shop, range(shop.n_jobs), 1, seed)
        search = make_search(rules, starts, "cpu", self.cores)
        state = State.of(rules, starts, max(self.args.generations))
        began = time.perf_counter()
        search.run(
            state,
            max(self.args.generations),
            lambda: state.generation > 0 and time.perf_counter() - began > CPU_S,
        )
        seconds = time.perf_counter() - began
        row.generations = state.generation
        self._done(row, state, rules.neighbours(shop.n_jobs), seconds)

    def _timed(self, row: Row, tabu: str, shape: Shape | None) -> None:
        if time.perf_counter() > self.ends:
            self.left_out += 1
            return
        shop = instance_of(row.size, row.seed)
        rules = _rules(shop, row.way, tabu)
        starts = make_starts(shop, range(shop.n_jobs), row.searches, row.seed)
        try:
            make_search(rules, starts, "gpu", shape=shape).run(
                State.of(rules, starts, 1), 1
            )
            search = make_search(rules, starts, "gpu", shape=shape)
            state = State.of(rules, starts, row.generations)
            began = time.perf_counter()
            search.run(state, row.generations)
            seconds = time.perf_counter() - began
        except Exception as error:  # noqa: BLE001 (the other rows go on)
            print(f"FAILED: {row.key}: {error!r}", flush=True)
            self.failures.append(f"{row.key}: {error!r}")
            return
        self._done(row, state, rules.neighbours(shop.n_jobs), seconds)

    def _done(self, row: Row, state: State, neighbours: int, seconds: float) -> None:
        count = row.generations * row.searches
        row.seconds = seconds
        row.neighbours_per_s = neighbours * count / seconds
        row.value = int(state.values[:, 1].min())
        row.moves = _checksum(state.moves[:, : row.generations])
        self.rows.append(row)
        print(
            f"{row.part:6} {row.size:7} seed {row.seed} {row.way:7} "
            f"G {row.generations:5} x {row.searches:4} {row.device:7} "
            f"{1e6 * seconds / row.generations:12,.1f} us/G "
            f"{row.neighbours_per_s:10.3g} neighbours/s {row.arm}",
            flush=True,
        )

    def _check(self) -> None:
        """All ways by swap make the same moves."""
        seen: dict[tuple[Any, ...], Row] = {}
        for row in self.rows:
            what = "insert" if row.way == "insert" else "swap"
            kind = row.part == "list"
            key = row.size, row.seed, what, row.generations, row.searches, kind
            other = seen.setdefault(key, row)
            if other.moves != row.moves:
                self.failures.append(f"other moves: {row.key} and {other.key}")

    def _print(self) -> None:
        for part in ("grid", "list", "batch", "carveout"):
            lines = list(self._table(part))
            if lines:
                print(f"\n{part}: mean (worst) over seeds {self.args.seeds}")
                print("\n".join(lines))
        for line in self._against_cores():
            print(line)
        if self.left_out:
            print(f"left out, the time was over: {self.left_out} measurements")
        for failure in self.failures:
            print(f"WRONG: {failure}")

    def _table(self, part: str) -> Iterator[str]:
        head = "| machines x jobs | G | searches | us/G none | prefix | both | insert |"
        head += " prefix over none | paper | both over none | best neighbours/s swap |"
        head += " insert | arm |"
        groups: dict[tuple[str, int, int, str], list[Row]] = {}
        for row in self.rows:
            if row.part == part:
                key = row.size, row.generations, row.searches, row.arm
                groups.setdefault(key, []).append(row)
        if groups:
            yield head
            yield "|---" * head[1:-1].count("|") + "|---|"
        for (size, generations, many, arm), rows in groups.items():
            micro = {
                way: [1e6 * r.seconds / generations for r in rows if r.way == way]
                for way in WAYS
            }
            paper = "-"
            if generations in GENERATIONS:
                paper = PAPER[size][GENERATIONS.index(generations)]
            rates = [
                max(
                    (r.neighbours_per_s for r in rows if (r.way == "insert") == i),
                    default=0,
                )
                for i in (False, True)
            ]
            cells = [
                *(size, f"{generations:,}", f"{many:,}"),
                *(
                    f"{np.mean(v):,.1f} ({max(v):,.1f})" if v else "-"
                    for v in micro.values()
                ),
                _gain(rows, "prefix"),
                paper,
                _gain(rows, "both"),
                *(f"{rate:.3g}" if rate else "-" for rate in rates),
                arm or "usual",
            ]
            yield "| " + " | ".join(cells) + " |"

    def _against_cores(self) -> Iterator[str]:
        """Compare rates with those of the cores, seed by seed."""
        groups: dict[tuple[str, str, str], list[Row]] = {}
        for row in self.rows:
            if row.part == "cpu":
                groups.setdefault((row.size, row.way, row.device), []).append(row)
        for (size, way, device), rows in groups.items():
            cores = {row.seed: row.neighbours_per_s for row in rows}
            gains: dict[int, dict[int, float]] = {}
            for one in self.rows:
                same = (one.size, one.way, one.arm) == (size, way, "")
                if same and one.part in ("grid", "batch") and one.seed in cores:
                    gain = one.neighbours_per_s / cores[one.seed]
                    of_seed = gains.setdefault(one.searches, {})
                    of_seed[one.seed] = max(gain, of_seed.get(one.seed, 0.0))
            told = ", ".join(
                f"{np.mean(list(found.values())):.0f} ({min(found.values()):.0f}) "
                f"times that with {many} searches"
                for many, found in sorted(gains.items())
            )
            rates = list(cores.values())
            yield (
                f"{size} {way} on {device}: {np.mean(rates):.3g} ({min(rates):.3g}) "
                f"neighbours/s ({min(row.generations for row in rows)} generations); "
                f"GPU: {told or 'none'}"
            )

    def _write(self) -> None:
        report = {
            "device": self.device,
            "cores": self.cores,
            "seeds": self.args.seeds,
            "failures": self.failures,
            "rows": self.rows,
        }
        write_json(self.args.json, report)


def _gain(rows: list[Row], way: str) -> str:
    """Mean and least speed-up of a way over none, of the same seeds."""
    base = {row.seed: row.seconds for row in rows if row.way == "none"}
    gains = [
        base[row.seed] / row.seconds
        for row in rows
        if row.way == way and row.seed in base
    ]
    return f"{np.mean(gains):.2f} ({min(gains):.2f})" if gains else "-"


def _rules(shop: FlowShopInstance, way: str, tabu: str) -> Any:
    if way == "insert":
        return make_rules(shop, neighbourhood="insert", tabu=tabu)
    return make_rules(shop, sharing=way, tabu=tabu)


@cache
def instance_of(size: str, seed: int) -> FlowShopInstance:
    """Return the instance of a size, machines x jobs, and a seed of the generator."""
    machines, jobs = (int(one) for one in size.split("x"))
    return FlowShopInstance.from_array(
        generate(seed, jobs, machines),
        name=f"{size}-{seed}",
        orientation="machines_rows",
    )


def _checksum(moves: NDArray[np.int32]) -> int:
    weights = np.arange(1, moves.size + 1, dtype=np.int64)
    return int((moves.astype(np.int64).ravel() * weights % 1_000_003).sum())
