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


def instructions():
    """(name, rest) of every instruction, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


def test_everything_that_is_copied_exists_and_is_let_through():
    """The ignore file lets in what is copied, and nothing else."""
    copied = {
        source.rstrip("/")
        for name, rest in instructions()
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    for source in copied:
        assert (ROOT / source).exists(), source
    lines = (FOLDER / "Dockerfile.dockerignore").read_text().split()
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied


def test_nobody_is_root_at_the_end():
    users = [rest for name, rest in instructions() if name == "USER"]
    assert users == ["1000"]


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_services_fit_together(name):
    service = COMPOSE["services"][name]
    assert (FOLDER / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    cuda = service["build"].get("args", {}).get("IMAGE", "cpu") != "cpu"
    assert service["image"] == ("dpbb:cuda" if cuda else "dpbb:cpu")
    for other, when in service.get("depends_on", {}).items():
        assert other in COMPOSE["services"]
        assert when == {"condition": "service_healthy"}
    for mount in service.get("volumes", []):
        volume, target = mount.split(":")
        assert volume in COMPOSE["volumes"]
        assert target == "/checkpoints"
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    for port in service.get("ports", []):
        assert port.startswith("127.0.0.1:")  # no login on either
    program, *arguments = shlex.split(service["command"].replace("${", "{"))
    assert program in ("dask", "dpbb")
    if program == "dask":
        assert arguments[-2:] == ["--preload", "dpbb.cluster.preload"]
    if arguments[0] == "worker":  # where the health check of the image looks
        assert "--dashboard-address 127.0.0.1:8787" in service["command"]
