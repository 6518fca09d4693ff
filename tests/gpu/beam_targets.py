"""What beams find on a device, by width: ``python -m tests.gpu.beam_targets ta081``.

A row a width: when it ended, its runs, nodes and nodes a second, the incumbent and its
gap to the best known schedule, what was proved; then when the incumbent got better.
"""

# ruff: noqa: T201 (a command)
import argparse
import logging
import time

from dpbb.flowshop import FlowShopProblem, read_instance
from dpbb.flowshop.heuristics import beam as cpu
from dpbb.flowshop.heuristics import beam_gpu as gpu
from dpbb.flowshop.heuristics.plain import neh
from dpbb.flowshop.heuristics.search import Search
from dpbb.kernels.cores import physical_cores


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="+")
    arguments.add_argument("--seconds", type=float, default=20)
    arguments.add_argument("--data", help="folder of the VRF files")
    arguments.add_argument("--cpu", action="store_true")
    options = arguments.parse_args()
    for name in options.names:
        show(read_instance(name, data_dir=options.data), options)


class Widths(logging.Handler):
    """Sums up the runs of a width from the beam's log."""

    def __init__(self, known):
        super().__init__(logging.DEBUG)
        self.known = known
        self.started = self.begun = time.monotonic()
        self.width, self.runs, self.nodes, self.last = 0, [], 0, 0

    def emit(self, record):
        width, guide, target, nodes, _, uncut, value = record.args
        if width != self.width:
            self.show()
            self.width, self.runs, self.nodes = width, [], 0
            self.begun = time.monotonic()
        letter = guide[0] + ("+" if not self.last or value < self.last else "-")
        self.runs.append(f"{letter}{target}{'!' * uncut}")
        self.nodes += nodes
        self.last = value

    def show(self):
        now = time.monotonic()
        if self.runs:
            rate = self.nodes / (now - self.begun) / 1e6
            gap = f"{(self.last / self.known - 1) * 100:.2f} %" if self.known else ""
            print(
                f"  2^{self.width.bit_length() - 1} until {now - self.started:.2f} s: "
                f"{self.last} {gap} | {rate:.1f} M nodes/s | {' '.join(self.runs)}",
                flush=True,
            )


def show(instance, options):
    problem = FlowShopProblem(instance)
    best = problem.best_known.upper_bound if problem.best_known else None
    start = neh(Search(instance, problem.root_bound))
    cpu.load(Search(instance, problem.root_bound), start)
    widths = Widths(best)
    found = []
    search = Search(
        instance,
        problem.root_bound,
        deadline=time.monotonic() + options.seconds,
        threads=physical_cores(),
        on_improvement=lambda one: found.append(
            f"{one.value} at {time.monotonic() - widths.started:.2f} s"
        ),
    )
    print(f"{instance.name}: LB {problem.root_bound}, best known {best}", flush=True)
    logger = logging.getLogger(cpu.__name__)
    logger.setLevel(logging.DEBUG)
    logger.addHandler(widths)
    result = (cpu if options.cpu else gpu).beam(search, start)
    widths.show()
    logger.removeHandler(widths)
    proved = "proved" if result.proved else "not proved"
    print(f"  = {result.value} {proved}; {', '.join(found[-12:])}", flush=True)
    if best and result.value < best:
        print(f"  NEW BEST {result.permutation.tolist()}", flush=True)


if __name__ == "__main__":
    main()
