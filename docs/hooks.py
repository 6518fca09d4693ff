"""Hooks of the documentation site: the command line's help, as it is printed."""

from __future__ import annotations

import contextlib
import io
import os
import re
from typing import Any

from dpbb.cli import COMMANDS, main


def on_page_markdown(markdown: str, **_context: Any) -> str:
    """Put the help of all commands where the page asks for it."""
    # what a repository's page links to stands in the site's
    markdown = re.sub(r"\[(examples/\S+)\]\(\S+\)", r"`\1`", markdown)
    if "{{ commands }}" not in markdown:
        return markdown
    os.environ["COLUMNS"] = "88"
    texts = [f"## dpbb {name}\n\n```text\n{_help(name)}```\n" for name in COMMANDS]
    return markdown.replace("{{ commands }}", "\n".join(texts))


def _help(*command: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*command, "--help"])
    return out.getvalue()
