"""A notebook that is executed: displays that are updated, values that are shown."""

import re

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

pytestmark = pytest.mark.cluster

CELLS = (
    "import dpbb\ninstance = dpbb.read_instance('ta016')\ninstance",
    "result = dpbb.solve(instance, upper_bound=1398, threads=1, heuristics='neh')",
    "result",
    "run = dpbb.submit('ta056', cutoff=3679, threads=1)\n"
    "thread = run.watch(block=False)",
    "run",
    "print(thread.is_alive())\nrun.stop()\nthread.join(60)\nrun.close()",
    "dpbb.solve(instance, upper_bound=1398, threads=1, heuristics='neh')",
    "run = dpbb.submit(instance, upper_bound=1398, threads=1, heuristics='neh')\n"
    "run.watch()\n"
    "try:\n    found = run.result()\nfinally:\n    run.close()\n"
    "found",
)


@pytest.fixture(scope="module")
def executed():
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=90, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


def only(outputs, kind="display_data"):
    (output,) = outputs
    assert output.output_type == kind
    return output.data


def test_an_instance_is_shown(executed):
    page = only(executed[0], "execute_result")["text/html"]
    assert "flow shop" in page
    assert "best known makespan" in page


def test_solve_has_one_display_that_ends_with_the_result(executed):
    shown = only(executed[1])
    assert shown["text/html"] == only(executed[2], "execute_result")["text/html"]
    assert "optimal, as the tree is exhausted" in shown["text/html"]
    assert "1397" in shown["text/plain"]


@pytest.mark.parametrize("cell", [6, 7])
def test_a_result_that_is_the_value_of_its_cell_is_shown_once(executed, cell):
    display, value = executed[cell]
    assert (display.output_type, value.output_type) == (
        "display_data", "execute_result",
    )  # fmt: skip
    assert display.data == {"text/html": "", "text/plain": ""}
    assert "optimal, as the tree is exhausted" in value.data["text/html"]


def test_what_is_shown_needs_no_script_and_nothing_from_elsewhere(executed):
    """VS Code renders HTML and text alone; widgets would need an extension."""
    shown = [
        output.data
        for outputs in executed
        for output in outputs
        if output.output_type in ("display_data", "execute_result")
    ]
    pages = [data["text/html"] for data in shown if "text/html" in data]
    assert len(pages) >= 6
    assert all(data.keys() <= {"text/html", "text/plain"} for data in shown)
    for page in pages:
        assert not re.search(r"<script|<link|<img|\bsrc=|url\(|@import|var\(", page)


def test_a_run_is_shown_while_other_cells_are_executed(executed):
    assert "infeasible_cutoff" not in str(executed[3])
    assert (
        "unknown, as the search ended early (stopped)" in only(executed[3])["text/html"]
    )
    assert "ta056" in only(executed[4], "execute_result")["text/html"]
    assert executed[5][0].text.startswith("True")
