"""deploy/apptainer: the recipe's steps, in a folder instead of an image."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.processes import run

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "deploy" / "apptainer" / "dpbb.def"
IMAGE_FOLDER = "/opt/dpbb"


def sections():
    """Return the header's keywords, and the text of each section by name."""
    text = re.sub(r"^#.*\n", "", RECIPE.read_text(), flags=re.MULTILINE)
    header, *parts = re.split(r"^%", text, flags=re.MULTILINE)
    keywords = dict(line.split(": ", 1) for line in header.splitlines() if line)
    return keywords, {part.split("\n")[0]: part.partition("\n")[2] for part in parts}


KEYWORDS, SECTIONS = sections()


def test_recipe_has_the_base_of_the_docker_image():
    dockerfile = (ROOT / "deploy" / "docker" / "Dockerfile").read_text()
    assert KEYWORDS["Bootstrap"] == "docker"
    assert f"ARG BASE={KEYWORDS['From']}\n" in dockerfile


def test_everything_is_in_one_folder_of_the_image():
    for line in SECTIONS["files"].splitlines():
        if line.strip():
            source, target = line.split()
            assert (ROOT / source).exists()
            assert target.startswith(f"{IMAGE_FOLDER}/")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_steps_make_an_image_that_solves(tmp_path):
    """As ``apptainer build`` and ``apptainer run`` go through them.

    Modules are compiled when they are imported, for that few are.
    """
    if not (ROOT / "deploy" / "docker" / "locked" / "cpu.txt").exists():
        pytest.skip("no lists of packages here: deploy/docker/lock.sh")
    image, home = tmp_path / "image", tmp_path / "home"
    home.mkdir()
    values = dict(line.strip().split("=") for line in SECTIONS["arguments"].split())

    def text(name):
        filled = SECTIONS[name].replace(IMAGE_FOLDER, str(image))
        return re.sub(r"\{\{ (\w+) \}\}", lambda found: values[found[1]], filled)

    def say(*names, arguments=()):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "NUMBA", "DASK", "VIRTUAL_ENV"))
        }
        kept |= {"PATH": path, "HOME": str(home), "PIP_NO_COMPILE": "1"}
        command = ("sh", "-c", "".join(map(text, names)), "image", *arguments)
        return run(*command, env=kept, cwd=tmp_path, timeout=None).stdout

    for line in text("files").splitlines():
        if line.strip():
            source, target = line.split()
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, target)
            else:
                shutil.copy(ROOT / source, target)
    say("post")
    assert "makespan     1278" in say("environment", "test")
    where = ("python", "-c", "import dpbb; print(dpbb.__file__)")
    assert str(image) in say("environment", "runscript", arguments=where)
    told = say("environment", "runscript", arguments=("dpbb", "--version"))
    assert told.strip()
