"""Problems are asked what they can do, not which class they are of."""

from __future__ import annotations

from pathlib import Path

import dpbb

ROOT = Path(dpbb.__file__).parent
NAMES = ("FlowShopProblem", "FlowShopInstance")
ALLOWED = {
    "__init__.py",  # what users import
    "api.py",  # what users may give
    "bounds.py",
    "bench",  # measures flow shops
    "flowshop",
    "jobshop",  # reads the same formats
}


def test_flow_shops_are_named_where_they_are_at_home_alone():
    naming = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if any(name in path.read_text("utf-8") for name in NAMES)
    }
    assert "flowshop/problem.py" in naming
    assert {name for name in naming if name.split("/")[0] not in ALLOWED} == set()
