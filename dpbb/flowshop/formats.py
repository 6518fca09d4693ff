"""One door for instances: names, files of any form, arrays."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpbb.errors import refuse, shown
from dpbb.flowshop.best_known import benchmark_name
from dpbb.flowshop.headings import is_setups, refuse_calendar
from dpbb.flowshop.instance import FlowShopInstance
from dpbb.flowshop.table_form import AS_IT_IS, TableForm
from dpbb.flowshop.table_formats import CELLS, TABLES, read_npy
from dpbb.flowshop.tables import Sheet, Table, table_of_cells, trimmed
from dpbb.flowshop.taillard import taillard_instance
from dpbb.flowshop.text_formats import decoded, read_text
from dpbb.flowshop.times import Orientation, check_orientation
from dpbb.flowshop.vrf import Place, content_of, find_vrf
from dpbb.text.files import file_and_index, noted, read_file, read_stream

TEXT_SUFFIXES = ("", ".txt", ".dat", ".fsp", ".pfsp")
STDIN = "-"
"""Instead of a file: read the standard input."""


def read_instance(
    source: Any,  # names, paths, arrays, lists, data frames
    *,
    index: int | None = None,
    orientation: Orientation | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    table: TableForm = AS_IT_IS,
) -> FlowShopInstance:
    """Return an instance from whatever describes one.

    Parameters
    ----------
    source
        A name (``"ta001"`` to ``"ta120"``; ``"VFR30_15_2"``, with ``data_dir``), a
        path, a two-dimensional array, nested list or DataFrame (rows are jobs), or an
        instance. A file called like a benchmark instance is read as ``"./ta001"``;
        ``"-"`` is the standard input (JSON, a table with commas, semicolons or tabs,
        or text).
    index
        Which instance of a file that holds several, from 0; ``"FILE[3]"`` says it, too.
    orientation
        What a row of a table is: ``"jobs_rows"`` (the default of tables) or
        ``"machines_rows"``; text files (Taillard, VRF) say so themselves.
    data_dir
        Folder of benchmark files; default: the environment variable ``DPBB_DATA``.
    table
        How a CSV file or a workbook is read, where that is not plain.

    Raises
    ------
    InstanceError
        Says where (file, line, column), what was expected and what came.

    Examples
    --------
    >>> form = dpbb.TableForm(sheet="Plan", scale=60)  # doctest: +SKIP
    >>> shop = dpbb.read_instance("shop.xlsx", table=form)  # doctest: +SKIP
    """
    shop, setups = read_shop(
        source, index=index, orientation=orientation, data_dir=data_dir, table=table
    )
    more = [f"sheet {one.title} (dpbb.read_problem reads set-ups)" for one in setups]
    return replace(shop, skipped=(*shop.skipped, *more)) if more else shop


def read_shop(
    source: Any,
    *,
    index: int | None = None,
    orientation: Orientation | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    table: TableForm = AS_IT_IS,
) -> tuple[FlowShopInstance, list[Sheet]]:
    """Return an instance, and the sheets of set-ups that are beside it in a workbook.

    InstanceError: see ``read_instance``.
    """
    rows = orientation
    check_orientation(rows)
    if isinstance(source, str | os.PathLike):
        text = os.fsdecode(source)
        name = benchmark_name(text) if isinstance(source, str) else None
        if name is None:
            return _read_file(text, index, rows, table)
        _refuse_extras(text, index, rows, table)
        if name.startswith("ta"):
            return taillard_instance(name), []
        return vrf_instance(name, find_vrf(name, data_dir)), []
    if index is not None:
        refuse("index", "a file of several instances", f"a {type(source).__name__}")
    if isinstance(source, FlowShopInstance):
        _refuse_extras(source.name, index, rows, table)
        return source, []
    _refuse_table(table, f"a {type(source).__name__}")
    return FlowShopInstance.from_array(source, orientation=rows), []


def vrf_instance(name: str, place: Place) -> FlowShopInstance:
    """Return an instance from where it is; see ``find_vrf``.

    Raises
    ------
    InstanceError
        It is none, or one of another size than its name says.
    """
    content = content_of(place)
    if place.file.suffix.lower() == ".npy":
        times = read_npy(content, str(place))[0].times.T
    else:
        times = _only(_read_texts(content, str(place), None), str(place), None)[1].times
    instance = FlowShopInstance(name, times)
    n_jobs, n_machines = map(int, name.removeprefix("VFR").split("_")[:2])
    if instance.times.shape != (n_jobs, n_machines):
        refuse(
            name,
            f"{n_jobs} jobs and {n_machines} machines, as the name says",
            f"{instance.n_jobs} and {instance.n_machines}",
        )
    return instance


def sources_in(file: str, table: TableForm = AS_IT_IS) -> list[str]:
    """Return what ``read_instance`` takes for each instance of a file, in their order.

    ``"FILE[3]"`` is the one that it says. ``table``: as of ``read_instance``.
    """
    path, index = file_and_index(file)
    _, tables, _ = _tables_of(path, None, table)
    if index is not None:
        _only(tables, path, index)
        return [file]
    return (
        [file] if len(tables) == 1 else [f"{file}[{at}]" for at in range(len(tables))]
    )


def read_setups(file: str, form: TableForm = AS_IT_IS) -> list[FlowShopInstance]:
    """Return tables of set-ups: of a workbook the sheets called so, if any are."""
    stem, tables, setups = _tables_of(file, None, form)
    return tables_of_setups(setups or tables, stem, form)


def tables_of_setups(
    tables: Sequence[Table | Sheet], name: str, form: TableForm = AS_IT_IS
) -> list[FlowShopInstance]:
    """Return tables of set-ups; ``name``: of the file."""
    found = []
    for number, one in enumerate(tables):
        where = f"{name}, table {number}"
        if isinstance(one, Sheet):
            where = one.where
            _fill_diagonal(one)
        found.append(_instance_of(where, one, where, None, form))
    return found


def _fill_diagonal(sheet: Sheet) -> None:
    """Write 0 where a job would follow itself.

    InstanceError: numbers name the rows, and another one a column.
    """
    if sheet.is_empty:
        return
    ((line, heads), *lines), left, _ = trimmed(sheet)
    whole, labels = dict(sheet.cells), [row[0] for _, row in lines]
    named = labels[:1] and labels[0].isdecimal() and not heads[0].isdecimal()
    for at, heading in enumerate(heads[1:] if named else [], 1):
        if heading.isdecimal() and heading not in labels:
            where = sheet.place(line, left + at)
            refuse(where, f"a name of a row, such as {labels[0]}", shown(heading))
    for number, row in lines:
        for at, (heading, cell) in enumerate(zip(heads, row, strict=False)):
            if heading and heading == row[0] and not cell:
                whole[number][left + at] = "0"


def _read_file(
    name: str, index: int | None, rows: Orientation | None, form: TableForm
) -> tuple[FlowShopInstance, list[Sheet]]:
    if index is None:
        name, index = file_and_index(name)
    stem, tables, setups = _tables_of(name, rows, form)
    number, table = _only(tables, name, index)
    if len(tables) > 1:
        stem, name = f"{stem}[{number}]", f"{name}, instance {number}"
    filled = [one for one in setups if not one.is_empty]
    return _instance_of(stem, table, name, rows, form), filled


def _instance_of(
    stem: str,
    table: Table | Sheet,
    name: str,
    rows: Orientation | None,
    form: TableForm,
) -> FlowShopInstance:
    if isinstance(table, Sheet):  # only what is asked for has to be a table
        table = table_of_cells(table, rows, form)
    found = table.arranged(name, rows)
    told = table.skipped, table.taken
    return FlowShopInstance(table.name or stem, *found, *told)


def _read_texts(content: bytes, name: str, rows: Orientation | None) -> list[Table]:
    texts = read_text(decoded(content, name), name, rows)
    return [Table(times, of_jobs=True) for times in texts]


def _tables_of(
    name: str, rows: Orientation | None, form: TableForm
) -> tuple[str, Sequence[Table | Sheet], list[Sheet]]:
    """Return a file's name without its suffix, its tables, and its sheets of set-ups.

    Of a workbook with nothing but set-ups they are the tables.
    """
    if name == STDIN:
        name, path = "standard input", Path("stdin")
        try:
            text = decoded(read_stream(sys.stdin.buffer), name)
        except OSError as error:
            refuse(name, "an instance", f"an error: {error.strerror or error}")
        content, suffix = text.encode(), _form_of(text)
        if (redirected := Path("/dev/stdin")).is_file():
            noted(redirected)
    else:
        path = Path(name)
        content, suffix = _content_of(name), path.suffix.lower()
    if suffix in CELLS:
        sheets = CELLS[suffix](content, name, form)
        return path.stem, *_sheets(sheets, name, form)
    _refuse_table(form, f"the file {name}")
    if suffix in TEXT_SUFFIXES:
        return path.stem, _read_texts(content, name, rows), []
    if suffix not in TABLES:
        known = ", ".join([*TEXT_SUFFIXES[1:], *CELLS, *TABLES])
        refuse(name, f"a file ending in {known} or nothing", repr(path.suffix))
    return path.stem, TABLES[suffix](content, name), []


def _sheets(
    sheets: list[Sheet], name: str, form: TableForm
) -> tuple[list[Sheet], list[Sheet]]:
    """Return the sheets that are instances, and those of set-ups."""
    setups = [one for one in sheets if is_setups(one.title)]
    if form.sheet is not None:
        titles = ", ".join(one.title for one in sheets if one.title)
        found = [one for one in sheets if one.title == form.sheet]
        if not found:
            known = f"one of the sheets {titles}" if titles else "a workbook"
            refuse(name, f"{known} for --sheet", shown(form.sheet))
        return found, [one for one in setups if one not in found]
    for one in sheets:
        refuse_calendar(one.title, name, "say --sheet with the name of another sheet")
    others = [one for one in sheets if one not in setups]
    others = [one for one in others if not one.is_empty] or others
    return (others, setups) if others else (setups, [])


def _content_of(name: str) -> bytes:
    if not name.strip():
        refuse("instance", "a name, a file or a table", repr(name))
    try:
        return read_file(Path(name))
    except IsADirectoryError:
        refuse(shown(name), "a file", "a folder")
    except FileNotFoundError:
        if Path(name).suffix and ":" not in name:
            refuse(name, "a file", "no such file")
        refuse(
            name,
            "ta001 to ta120, VFR<jobs>_<machines>_<number> or a file",
            "neither such a name nor an existing file"
            + "; a model is solved from Python, by dpbb.solve" * (":" in name),
        )
    except (OSError, ValueError) as error:  # a pipe, too long, a null byte
        text = getattr(error, "strerror", None) or error
        refuse(shown(name), "a readable file", f"an error: {text}")


def _form_of(text: str) -> str:
    """Return the suffix of files that look like a text."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    if line.lstrip().startswith(("{", "[")):
        return ".json"
    return ".csv" if any(mark in line for mark in ",;\t") else ".txt"


def _only(found: Sequence[Any], where: str, index: int | None) -> tuple[int, Any]:
    """Return the instance that was asked for, and its number."""
    if index is None and len(found) > 1:
        titles = ", ".join(one.title for one in found if isinstance(one, Sheet))
        sheets = f"; --sheet may be one of {titles}" if titles else ""
        refuse(
            where,
            "one instance, or an index to choose one",
            f"{len(found)} instances; index may be 0 to {len(found) - 1}{sheets}",
        )
    number = 0 if index is None else index
    if isinstance(number, bool) or not isinstance(number, int):
        refuse("index", "a whole number from 0", shown(number))
    if not 0 <= number < len(found):
        refuse(where, f"an index from 0 to {len(found) - 1}", shown(number))
    return number, found[number]


def _refuse_table(form: TableForm, got: str) -> None:
    if form != AS_IT_IS:
        refuse("options of tables", "a CSV file or a workbook", got)


def _refuse_extras(
    name: str, index: int | None, rows: Orientation | None, form: TableForm
) -> None:
    _refuse_table(form, f"the instance {name!r}")
    if index is not None:
        refuse("index", "a file of several instances", f"the name {name!r}")
    if rows is not None:
        refuse("orientation", "a table or a file", f"the instance {name!r}")
