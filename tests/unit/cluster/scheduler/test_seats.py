"""A device is one seat, and a run gets the seats that its engine can use."""

import logging

from dpbb.cluster.scheduler.seats import SeatTable
from tests.unit.cluster.support import seat_message

AUTO = {"cpu": "cpu", "cuda": "gpu"}


def usable(table, engine):
    kinds = {"auto": AUTO, "gpu": {"cuda": "gpu"}}.get(engine, {"cpu": engine})
    return {seat.id for seat in table.usable_by(kinds)}


def test_auto_takes_gpus_and_the_cores_of_workers_without():
    """The cores of a worker with a GPU are left to feed it."""
    table = SeatTable()
    table.announce("a", 4, [seat_message("a"), seat_message("a", "cuda")])
    table.announce("b", 4, [seat_message("b")])
    assert usable(table, "auto") == {"a/cuda0", "b/cpu0"}
    assert usable(table, "gpu") == {"a/cuda0"}
    assert usable(table, "cpu") == usable(table, "reference") == {"a/cpu0", "b/cpu0"}


def test_cores_serve_where_no_gpu_of_their_worker_does():
    """A run may do without a GPU; then the cores have nothing to feed."""
    table = SeatTable()
    gpus = [seat_message("a", "cuda", index) for index in range(2)]
    table.announce("a", 4, [seat_message("a"), *gpus])

    def seats(*excluded):
        return {seat.id for seat in table.usable_by(AUTO, excluded)}

    assert seats() == {"a/cuda0", "a/cuda1"}
    assert seats("a/cuda0") == {"a/cuda1"}
    assert seats("a/cuda0", "a/cuda1") == {"a/cpu0"}
    assert seats("a/cuda0", "a/cuda1", "a/cpu0") == set()


def test_second_process_on_a_gpu_stays_idle_until_the_first_goes(caplog):
    """Eight workers of one host all find GPU 0: one of them explores on it."""
    table = SeatTable()
    with caplog.at_level(logging.WARNING):
        for worker in "abc":
            surplus = table.announce(
                worker, 1, [seat_message(worker, "cuda", uuid="GPU-1")]
            )
            assert surplus == ([] if worker == "a" else [f"{worker}/cuda0"])
    assert "GPU seats of worker b stay idle" in caplog.text
    assert "GPU-1" in caplog.text
    assert usable(table, "gpu") == {"a/cuda0"}
    assert [seat.id for seat in table.remove("a")] == ["a/cuda0"]
    assert usable(table, "gpu") == {"b/cuda0"}
    table.remove("b")
    assert usable(table, "gpu") == {"c/cuda0"}
    table.remove("c")
    assert not table.seats


def see(*uuids, worker):
    return [
        seat_message(worker, "cuda", index, uuid) for index, uuid in enumerate(uuids)
    ]


def gpus_of(table, worker):
    return {seat.device.uuid for seat in table.workers[worker].seats}


def test_workers_that_see_the_same_gpus_share_them(caplog):
    """As ``dask worker --nworkers 4`` starts them: one each, whatever the order."""
    table = SeatTable()
    uuids = ("G0", "G1", "G2", "G3")
    with caplog.at_level(logging.WARNING):
        for worker in "abcd":
            table.announce(worker, 1, see(*uuids, worker=worker))
    assert [len(gpus_of(table, worker)) for worker in "abcd"] == [1, 1, 1, 1]
    assert set.union(*(gpus_of(table, worker) for worker in "abcd")) == set(uuids)
    assert not caplog.text
    table.remove("b")  # its GPU goes to another
    assert set.union(*(gpus_of(table, worker) for worker in "acd")) == set(uuids)


def test_a_gpu_at_work_does_not_move():
    """A worker that joins late takes what is not in use."""
    table = SeatTable()
    table.announce("a", 2, see("G0", "G1", worker="a"))
    for seat in table.seats.values():
        seat.run = "run"
    assert len(table.announce("b", 2, see("G0", "G1", worker="b"))) == 2
    assert gpus_of(table, "a") == {"G0", "G1"}
