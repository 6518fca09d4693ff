"""One door for instances: names, files of any form, arrays."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpbb.errors import InstanceError, refuse, shown
from dpbb.flowshop import table_formats
from dpbb.flowshop.best_known import benchmark_name
from dpbb.flowshop.instance import FlowShopInstance, Orientation
from dpbb.flowshop.table_formats import Sheet, Table, table_of_cells
from dpbb.flowshop.taillard import taillard_instance
from dpbb.flowshop.text_formats import decoded, read_text
from dpbb.flowshop.vrf import Place, find_vrf
from dpbb.text.files import file_and_index, noted, read_file, read_stream
from dpbb.text.labels import Names, checked_names

TEXT_SUFFIXES = ("", ".txt", ".dat", ".fsp", ".pfsp")
_SUFFIXES = (*TEXT_SUFFIXES, ".csv", ".tsv", ".json", ".npy", ".xlsx")
STDIN = "-"
"""Instead of a file: read the standard input."""


def read_instance(
    source: Any,  # names, paths, arrays, lists, data frames
    *,
    index: int | None = None,
    orientation: str | Orientation | None = None,
    data_dir: str | os.PathLike[str] | None = None,
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

    Raises
    ------
    InstanceError
        Says where (file, line, column), what was expected and what came.
    """
    rows = None if orientation is None else _orientation(orientation)
    if isinstance(source, str | os.PathLike):
        text = os.fsdecode(source)
        name = benchmark_name(text) if isinstance(source, str) else None
        if name is None:
            return _read_file(text, index, rows)
        _refuse_extras(text, index, rows)
        if name.startswith("ta"):
            return taillard_instance(name)
        return vrf_instance(name, *find_vrf(name, data_dir))
    if index is not None:
        refuse("index", "a file of several instances", f"a {type(source).__name__}")
    if isinstance(source, FlowShopInstance):
        _refuse_extras(source.name, index, rows)
        return source
    return FlowShopInstance.from_array(source, orientation=rows)


def vrf_instance(canonical: str, place: Place, found: Any) -> FlowShopInstance:
    """Return an instance from what was found; see ``find_vrf``.

    Raises
    ------
    InstanceError
        It is none, or one of another size than its name says.
    """
    if isinstance(found, str):
        found = _only(read_text(found, str(place), None), str(place), None)[1]
    instance = FlowShopInstance(canonical, found)
    n_jobs, n_machines = canonical.removeprefix("VFR").split("_")[:2]
    if instance.times.shape != (int(n_jobs), int(n_machines)):
        refuse(
            canonical,
            f"{n_jobs} jobs and {n_machines} machines, as the name says",
            f"{instance.n_jobs} and {instance.n_machines}",
        )
    return instance


def sources_in(file: str) -> list[str]:
    """Return what ``read_instance`` takes for each instance of a file, in their order.

    ``"FILE[3]"`` is the one that it says.
    """
    path, index = file_and_index(file)
    _, tables, _ = _tables_of(path, None)
    if index is not None:
        _only(tables, path, index)
        return [file]
    return (
        [file] if len(tables) == 1 else [f"{file}[{at}]" for at in range(len(tables))]
    )


def _read_file(
    name: str, index: int | None, rows: Orientation | None
) -> FlowShopInstance:
    if index is None:
        name, index = file_and_index(name)
    stem, tables, by_default = _tables_of(name, rows)
    number, table = _only(tables, name, index)
    if isinstance(table, Sheet):  # only what is asked for has to be a table
        table = table_of_cells(table, rows)
    label = stem if len(tables) == 1 else f"{stem}[{number}]"
    where = name if len(tables) == 1 else f"{name}, instance {number}"
    instance = FlowShopInstance.from_array(
        table.times, name=where, orientation=by_default
    )
    names = table.names
    if by_default is Orientation.MACHINES_ROWS and not table.says_whose:
        names = Names(names.machines, names.jobs)
    read_as = f"{where}, read as {by_default}"
    checked_names(names, instance.n_jobs, instance.n_machines, read_as)
    return FlowShopInstance(table.name or label, instance.times, names)


def _tables_of(
    name: str, rows: Orientation | None
) -> tuple[str, Sequence[Table | Sheet], Orientation]:
    """Return a file's name without its suffix, its tables, and what their rows are."""
    if name == STDIN:
        name = "standard input"
        try:
            content = decoded(read_stream(sys.stdin.buffer), name)
        except OSError as error:
            refuse(name, "an instance", f"an error: {error.strerror or error}")
        path, suffix = Path("stdin"), _form_of(content)
        if (redirected := Path("/dev/stdin")).is_file():
            noted(redirected)
    else:
        path = _regular_file(name)
        suffix = path.suffix.lower()
        content = "" if suffix in (".npy", ".xlsx") else _text(path)
    by_default = Orientation.JOBS_ROWS if rows is None else rows
    tables: Sequence[Table | Sheet]
    match suffix:
        case ".csv" | ".tsv":
            tables = [table_formats.read_csv(content, name)]
        case ".json":
            tables = table_formats.read_json(content, name)
        case ".npy":
            tables = table_formats.read_npy(path)
        case ".xlsx":
            tables = table_formats.read_xlsx(path)
        case _ if suffix in TEXT_SUFFIXES:
            tables = [Table(times) for times in read_text(content, name, rows)]
            by_default = Orientation.JOBS_ROWS
        case _:
            known = ", ".join(known for known in _SUFFIXES if known)
            refuse(name, f"a file ending in {known} or nothing", repr(path.suffix))
    return path.stem, tables, by_default


def _regular_file(name: str) -> Path:
    if not name.strip():
        refuse("instance", "a name, a file or a table", repr(name))
    path = Path(name)
    try:
        if path.is_dir():
            refuse(name, "a file", "a folder")
        if not path.exists():
            refuse(
                name,
                "ta001 to ta120, VFR<jobs>_<machines>_<number> or a file",
                "neither such a name nor an existing file",
            )
        if not path.is_file():  # reading a pipe or a device might never end
            refuse(name, "a regular file", "a pipe or device")
    except (OSError, ValueError) as error:  # too long, or a null byte
        if isinstance(error, InstanceError):
            raise
        refuse(repr(name[:80]), "the path of a file", f"an error: {error}")
    return path


def _text(path: Path) -> str:
    try:
        content = read_file(path)
    except OSError as error:
        refuse(str(path), "a readable file", f"an error: {error.strerror}")
    return decoded(content, str(path))


def _form_of(text: str) -> str:
    """Return the suffix of files that look like a text."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    if line.lstrip().startswith(("{", "[")):
        return ".json"
    return ".csv" if any(mark in line for mark in ",;\t") else ".txt"


def _only(found: Sequence[Any], where: str, index: int | None) -> tuple[int, Any]:
    """Return the instance that was asked for, and its number."""
    if index is None and len(found) > 1:
        refuse(
            where,
            "one instance, or an index to choose one",
            f"{len(found)} instances; index may be 0 to {len(found) - 1}",
        )
    number = 0 if index is None else index
    if isinstance(number, bool) or not isinstance(number, int):
        refuse("index", "a whole number from 0", shown(number))
    if not 0 <= number < len(found):
        refuse(where, f"an index from 0 to {len(found) - 1}", shown(number))
    return number, found[number]


def _orientation(value: str | Orientation) -> Orientation:
    try:
        return Orientation(value)
    except ValueError:
        allowed = " or ".join(repr(str(one)) for one in Orientation)
        refuse("orientation", allowed, shown(value))


def _refuse_extras(name: str, index: int | None, rows: Orientation | None) -> None:
    if index is not None:
        refuse("index", "a file of several instances", f"the name {name!r}")
    if rows is not None:
        refuse("orientation", "a table or a file", f"the instance {name!r}")
