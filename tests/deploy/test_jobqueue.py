"""deploy/slurm/jobqueue.py: what it asks SLURM for, without any."""

import copy
import signal
import sys
from pathlib import Path

import pytest

from tests.cluster.support import wait_until

FOLDER = Path(__file__).parents[2] / "deploy" / "slurm"


@pytest.fixture
def script(monkeypatch):
    """The script as a module; it finds its neighbours."""
    pytest.importorskip("dask_jobqueue")
    monkeypatch.syspath_prepend(str(FOLDER))
    import jobqueue

    yield jobqueue
    sys.modules.pop("jobqueue")


@pytest.mark.parametrize("minutes", [5, 17, 18, 240, 10_000])
def test_worker_closes_in_its_wall_time_with_a_margin(script, minutes):
    lifetime, stagger = script.lifetime_s(minutes)
    margin = 60 * minutes - (lifetime + stagger)
    assert 50 <= margin <= 180
    assert lifetime - stagger >= 60 * minutes // 2


def test_only_the_first_sigterm_counts(script):
    """The next one would leave jobs behind, and the folder with the key."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        script.end_in_order()
        with pytest.raises(SystemExit, match="143"):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture
def cluster(script, tmp_path, monkeypatch):
    """What the script would submit workers with."""
    for name in list(script.os.environ):
        if name.startswith(("DASK_DISTRIBUTED", "DASK_DPBB")):
            monkeypatch.delenv(name)
    monkeypatch.setattr(script.os, "environ", dict(script.os.environ))
    from dpbb.cluster.slurm.launch import use_tls

    args = script.parse(["ckpt", "ta056", "--minutes", "30", "--interface", "lo"])
    before = copy.deepcopy(script.dask.config.config)
    try:
        with script.make_cluster(args, use_tls(tmp_path)) as cluster:
            yield cluster
    finally:  # other tests have no certificate
        script.dask.config.config.clear()
        script.dask.config.config.update(before)


def test_job_is_the_nanny_s_and_uses_the_certificate(cluster, tmp_path):
    """``exec``: SLURM's SIGTERM reaches it, not a shell that would leave it alone."""
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600
    text = cluster.job_script()
    command = text.strip().splitlines()[-1]
    assert command.startswith(f"exec {sys.executable} -m distributed.cli.dask_worker")
    assert "tls://127.0.0.1" in command
    assert f"--tls-key {tmp_path / 'key.pem'}" in command
    assert "#SBATCH -t 30" in text


def test_job_that_slurm_does_not_take_is_submitted_again(
    tools, script, cluster, tmp_path, monkeypatch
):
    """Its controller was away just then."""
    taken, refused = tmp_path / "taken", tmp_path / "refused"
    tools(
        "sbatch",
        f"""[ -e {refused} ] || {{ touch {refused}; exit 1; }}
touch {taken}; echo Submitted batch job 7""",
    )
    tools("scancel", "")
    monkeypatch.setattr(script, "RETRY_S", 0.1)
    script.submit_again(cluster)
    cluster.scale(1)
    # Dask cannot close a cluster whose job is just being submitted
    wait_until(lambda: [job.job_id for job in cluster.workers.values()] == ["7"])
    assert taken.exists()
    assert refused.exists()
