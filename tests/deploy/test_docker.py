"""deploy/docker: what can be checked without Docker."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "docker"
DOCKERFILE = FOLDER / "Dockerfile"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())

KNOWN = {
    *("FROM", "RUN", "COPY", "ENV", "VOLUME", "EXPOSE", "WORKDIR", "ARG", "USER"),
    "CMD",
}


def instructions():
    """(name, rest) of every instruction, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


def test_instructions_are_known_and_stages_fit_together():
    stages = {}
    for name, rest in instructions():
        assert name in KNOWN
        if name == "FROM":
            image, _, stage = rest.split()
            stages[stage] = image
    assert set(stages) == {"base", "cpu", "cuda"}
    assert {stages["cpu"], stages["cuda"]} == {"base"}
    assert re.fullmatch(r"python:3\.1\d-slim", stages["base"])


def test_everything_that_is_copied_exists_and_is_let_through():
    """The ignore file lets in what is copied, and nothing else."""
    copied = {
        source.rstrip("/")
        for name, rest in instructions()
        if name == "COPY"
        for source in rest.split()[:-1]
    }
    for source in copied:
        assert (ROOT / source).exists(), source
    lines = (FOLDER / "Dockerfile.dockerignore").read_text().split()
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied


def test_wheel_needs_what_is_copied():
    """Files that the build reads: README and licence are named in pyproject.toml."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = DOCKERFILE.read_text()
    for file in (project["readme"], *project["license-files"], "pyproject.toml"):
        assert file in text
    extras = re.findall(r"/src\[([^\]]*)\]", text)
    names = {
        "cuda13" if "$" in extra else extra for e in extras for extra in e.split(",")
    }
    assert names <= set(project["optional-dependencies"])


def test_nobody_is_root_at_the_end():
    for stage in ("cpu", "cuda"):
        inside = False
        user = None
        for name, rest in instructions():
            if name == "FROM":
                inside = rest.endswith(f" {stage}")
            elif name == "USER" and inside:
                user = rest
        assert user == "dpbb"


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_services_fit_together(name):
    service = COMPOSE["services"][name]
    assert (FOLDER / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    assert service["image"] == f"dpbb:{service['build']['target']}"
    for other in service.get("depends_on", []):
        assert other in COMPOSE["services"]
    for mount in service.get("volumes", []):
        volume, target = mount.split(":")
        assert volume in COMPOSE["volumes"]
        assert target == "/checkpoints"
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:")  # no login on either
    program, *arguments = shlex.split(service["command"].replace("${", "{"))
    assert program in ("dask", "solve-or-resume")
    if program == "dask":
        assert arguments[-2:] == ["--preload", "dpbb.cluster.preload"]


def test_gpu_workers_have_a_device_each():
    devices = [
        device["device_ids"]
        for service in COMPOSE["services"].values()
        if "deploy" in service
        for device in service["deploy"]["resources"]["reservations"]["devices"]
    ]
    assert devices == [["0"], ["1"]]


def test_the_scheduler_and_solve_share_the_checkpoints():
    for name in ("scheduler", "solve"):
        assert COMPOSE["services"][name]["volumes"] == ["checkpoints:/checkpoints"]
