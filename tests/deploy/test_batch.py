"""``dpbb slurm``: what it submits, and that it solves; by stubs of SLURM's commands."""

import pytest

from dpbb.cli import main
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from tests.processes import run

SRUN = 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"'
TREE = ("ta001", "--cutoff", "1278", "--engine", "cpu")


def test_it_submits_what_it_writes(tools, tmp_path):
    written, submitted = tmp_path / "job.sbatch", tmp_path / "submitted"
    tools("sbatch", f"cat > {submitted}")
    size = ("--tasks", "2", "--gpus", "--time", "10")
    assert main(["slurm", *size, "--write", str(written), "a folder", *TREE]) == 0
    assert not submitted.exists()
    assert main(["slurm", *size, "a folder", *TREE]) == 0
    text = submitted.read_text()
    assert text == written.read_text()
    *lines, last = text.splitlines()
    for flag in ("ntasks=2", "gpus-per-task=1", "time=10", "signal=B:USR1@180"):
        assert f"#SBATCH --{flag}" in lines
    assert last.endswith("runner 'a folder' " + " ".join(TREE))


def test_what_cannot_be_submitted_is_told(tools, tmp_path, monkeypatch, capsys):
    tools("sbatch", "exit 7")
    assert main(["slurm", "folder", "ta001"]) == 1
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["slurm", "folder", "ta001"]) == 1
    assert "expected sbatch on the PATH" in capsys.readouterr().err


@pytest.mark.cluster
@pytest.mark.slow
def test_the_job_solves_on_its_own_cluster(tools, tmp_path, monkeypatch):
    """Workers come by ``srun``; the exit code is the client's, and no key is left."""
    pytest.importorskip("cryptography")
    tools("srun", SRUN)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    job = tmp_path / "job.sbatch"
    assert main(["slurm", "--write", str(job), "run", *TREE, "--progress=plain"]) == 0
    assert "no schedule is below 1,278" in run("bash", job, cwd=tmp_path).stdout
    assert load_checkpoint(str(tmp_path / "run")).finished
    assert not list(tmp_path.glob("dpbb-7-*"))
