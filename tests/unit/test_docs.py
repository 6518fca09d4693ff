"""The pages of the documentation, without the site around them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_examples_are_included_and_not_quoted_as_a_line():
    """A formatter takes the include for Python where the block says it is Python."""
    pages = [page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md")]
    lines = [
        line for page in pages for line in re.findall(r"^--.*examples/.*", page, re.M)
    ]
    assert len(lines) == 2
    for line in lines:
        (file,) = re.fullmatch(r'--8<-- "(.*)"', line).groups()
        assert (ROOT / file).is_file()
