"""Prometheus metrics of the open runs, on the scheduler's ``/metrics``.

All are gauges: a lost worker's nodes since its last full report are explored again, so
no count of a run only grows. Of a run that is over the final state stays for an hour.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dpbb.coordination.snapshot import Snapshot
from dpbb.progress.words import state_kind

GAUGES = {
    "incumbent": "Value of the best permutation known",
    "upper_bound": (
        "What is not below it is pruned: the incumbent's value (with all optima one "
        "more), or one that was given, of which nobody need have a permutation"
    ),
    "lower_bound": "No schedule is below: least bound of the open roots, or proved",
    "gap_ratio": "(incumbent - lower bound) / incumbent; none without an incumbent",
    "nodes": "Decomposed nodes and leaves so far",
    "nodes_per_second": "Decomposed nodes and leaves a second, over a few seconds",
    "explored_ratio": "Closed leaves over n!; a share of leaves, not of time",
    "elapsed_seconds": "Time since the run was opened, resumed parts together",
    "open_roots": "Roots that are not explored yet",
    "donations": "Donations so far",
    "requeues": "Leases lost so far",
    "seats_lost": "Seats that went away with their workers, since the start or resume",
    "checkpoint_age_seconds": "Time since the last checkpoint was written",
    "work_at_risk_seconds": (
        "Age of the oldest exploration that the newest checkpoint does not have"
    ),
    "promised_loss_seconds": "What that is at most, as far as the seats can do it",
    "checkpoint_failures": "Checkpoints that could not be written",
    "estimate_seconds": "Estimated time until the end: the middle of the range",
    "estimate_low_seconds": "The least of it, in 19 of 20 cases",
    "estimate_high_seconds": "The most of it, in 19 of 20 cases",
    "energy_joules": "Energy of the devices while they explored, where they say",
    "gpu_seconds": "Seconds that GPUs have explored, all together",
}
"""Names, without ``dask_dpbb_``, and what they mean; a value each for every run."""

LABELS = ("run", "problem")

_registered: list[Any] = []


def register(scheduler: Any) -> bool:
    """Have a scheduler's ``/metrics`` show its runs.

    There is one registry a process; as Dask's own collectors do, ours follows the
    scheduler that was started last.

    Returns False without ``prometheus_client``.
    """
    try:
        import prometheus_client
    except ImportError:
        return False
    if not _registered:
        collector = _make_collector(scheduler)
        prometheus_client.REGISTRY.register(collector)
        _registered.append(collector)
    _registered[0].server = scheduler
    return True


def forget(scheduler: Any) -> None:
    """Let go of a scheduler that is closing."""
    if _registered and _registered[0].server is scheduler:
        _registered[0].server = None


def values_of(snapshot: Snapshot) -> dict[str, float]:
    """Values of ``GAUGES`` for a run; those that are not known are left out."""
    values: dict[str, float | None] = {
        name: getattr(snapshot, name, None) for name in GAUGES
    }
    values |= {
        "incumbent": snapshot.value,
        "upper_bound": snapshot.ub,
        "gap_ratio": snapshot.gap,
        "explored_ratio": snapshot.explored,
        "elapsed_seconds": snapshot.seconds,
        "energy_joules": snapshot.energy_j,
    }
    if snapshot.left is not None and snapshot.left.seconds is not None:
        low, middle, high = snapshot.left.seconds
        values |= {"estimate_low_seconds": low, "estimate_high_seconds": high}
        values["estimate_seconds"] = middle
    saved = snapshot.checkpoint
    if saved is not None:
        values["checkpoint_failures"] = saved.failures
        values["work_at_risk_seconds"] = saved.at_risk_s
        values["promised_loss_seconds"] = saved.promised_s
        if saved.last_s is not None:
            values["checkpoint_age_seconds"] = snapshot.seconds - saved.last_s
    return {name: value for name, value in values.items() if value is not None}


def _make_collector(scheduler: Any) -> Any:
    from distributed.http.prometheus import PrometheusCollector
    from prometheus_client.core import GaugeMetricFamily

    class RunCollector(PrometheusCollector):
        """The open runs of one scheduler."""

        def __init__(self, server: Any) -> None:
            super().__init__(server)  # type: ignore[no-untyped-call]
            self.subsystem = "dpbb"

        def describe(self) -> list[Any]:
            """Nothing: the names need not be looked up when it is registered."""
            return []

        def collect(self) -> Iterator[Any]:
            """Return the metric families."""
            extensions = getattr(self.server, "extensions", {})
            plugin = extensions.get("dpbb")
            if plugin is None:
                return
            snapshots = plugin.monitor.snapshots()
            yield GaugeMetricFamily(
                self._name("runs"), "Runs that are open", value=len(snapshots)
            )
            values = [(_labels(s), values_of(s)) for s in snapshots]
            for name, help_text in GAUGES.items():
                family = self._family(name, help_text)
                for labels, known in values:
                    if name in known:
                        family.add_metric(labels, known[name])
                yield family
            units = self._family("units", "Open units", "state")
            seats = self._family("seats", "Seats of the run", "engine", "state")
            for snapshot in snapshots:
                labels = _labels(snapshot)
                units.add_metric([*labels, "leased"], snapshot.leased)
                units.add_metric([*labels, "waiting"], snapshot.waiting)
                counts = Counter((seat.engine, seat.state) for seat in snapshot.seats)
                for (engine, state), count in sorted(counts.items()):
                    seats.add_metric([*labels, engine, state], count)
            yield units
            yield seats
            states = self._family("run_state", "1 for where a run is", "state")
            for snapshot in (*snapshots, *plugin.monitor.ended()):
                states.add_metric([*_labels(snapshot), state_kind(snapshot)], 1)
            yield states

        def _name(self, name: str) -> str:
            return f"{self.namespace}_{self.subsystem}_{name}".removeprefix("_")

        def _family(self, name: str, help_text: str, *more: str) -> Any:
            labels = [*LABELS, *more]
            return GaugeMetricFamily(self._name(name), help_text, labels=labels)

    return RunCollector(scheduler)


def _labels(snapshot: Snapshot) -> list[str]:
    return [snapshot.run_id, snapshot.instance]
