"""The pages of the documentation, without the site around them."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
PROGRAMS = sorted([*ROOT.glob("examples/*.py"), *ROOT.glob("deploy/**/*.py")])


def test_examples_are_included_and_not_quoted_as_a_line():
    """A formatter takes the include for Python where the block says it is Python."""
    text = "".join(page.read_text("utf-8") for page in PAGES)
    files = re.findall(r'^--8<-- "(examples/.*)"$', text, re.M)
    assert len(files) == len(re.findall(r"^--.*examples/.*", text, re.M)) > 0
    assert all((ROOT / file).is_file() for file in files)


def imports_of(source: str) -> list[tuple[str, str]]:
    """Module and name of every ``from dpbb... import`` in a program."""
    return [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpbb")
        for alias in node.names
    ]


def is_there(module: str, name: str) -> bool:
    """Whether ``from module import name`` works."""
    if hasattr(import_module(module), name):
        return True
    return find_spec(f"{module}.{name}") is not None


def shown_imports() -> set[tuple[str, str]]:
    blocks = [
        dedent(block)
        for page in PAGES
        for block in re.findall(
            r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S
        )
    ]
    programs = [program.read_text("utf-8") for program in PROGRAMS]
    return {found for source in blocks + programs for found in imports_of(source)}


def test_every_import_that_is_shown_works():
    shown = shown_imports()
    assert ("dpbb.plotting", "gantt") in shown
    for module, name in shown:
        assert is_there(module, name), f"{module}.{name}"
