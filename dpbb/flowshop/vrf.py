"""The benchmark of Vallada, Ruiz and Framinan (EJOR 240(3), 2015) by name.

The instances are not part of the package. A folder and its subfolders, two levels deep,
are searched for text files (``VFR30_15_2_Gap.txt``), also in ``.zip`` archives as they
are published, and for NumPy archives ``.npz`` (one array of shape (n_machines, n_jobs)
per name).
"""

import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpbb.errors import InstanceError, refuse
from dpbb.flowshop.best_known import benchmark_name
from dpbb.flowshop.table_formats import numpy_file
from dpbb.flowshop.text_formats import decoded
from dpbb.text.files import noted, read_file

DATA_VARIABLE = "DPBB_DATA"
"""Environment variable that names the folder of benchmark files."""

PUBLISHED = "soa.iti.es/problem-instances"
"""Where the authors' group publishes them."""

MOST_BYTES = 16 * 2**20
"""Of an instance, also in an archive; the largest ones have a tenth of a megabyte."""

_FORMS = (".txt", ".npz", ".zip")
"""Suffixes of files to look at; what an earlier form has, a later one has not to."""


class Place(NamedTuple):
    """Where an instance is: a file, and the member of it where it is an archive."""

    path: Path
    member: str | None = None

    def __str__(self) -> str:
        return str(self.path) if self.member is None else f"{self.path}: {self.member}"


def places_in(folder: Path) -> tuple[dict[str, Place], list[str]]:
    """Return where in a folder which instance is, and what is wrong with archives."""
    files = [
        file
        for level in ("*", "*/*", "*/*/*")
        for file in sorted(folder.glob(level))
        if file.suffix.lower() in _FORMS and file.is_file()
    ]
    found: dict[str, Place] = {}
    damaged = []
    for file in sorted(files, key=lambda file: _FORMS.index(file.suffix.lower())):
        try:
            members = _members(file)
        except InstanceError as error:  # of another's perhaps: all others are read
            damaged.append(str(error))
            continue
        for stem, place in members:
            name = benchmark_name(stem)
            if name is not None and name.startswith("VFR"):
                found.setdefault(name, place)
    return found, damaged


def _members(file: Path) -> list[tuple[str, Place]]:
    """Return what a file holds, by names that need not be those of instances."""
    match file.suffix.lower():
        case ".npz":
            if not file.name.lower().startswith("vrf"):
                return []
            with _archive(file) as archive:
                return [(name, Place(file, name)) for name in archive.files]
        case ".zip":
            try:
                with zipfile.ZipFile(file) as archive:
                    names = archive.namelist()
            except (OSError, zipfile.BadZipFile) as error:
                refuse(str(file), "a ZIP archive", f"an error: {error}")
            texts = [name for name in names if name.lower().endswith(".txt")]
            return [(Path(name).stem, Place(file, name)) for name in texts]
    return [(file.stem, Place(file))]


def find_vrf(
    name: str, data_dir: str | os.PathLike[str] | None
) -> tuple[Place, str | NDArray[Any]]:
    """Find an instance by its name.

    Parameters
    ----------
    name
        As the benchmark has it, such as ``"VFR30_15_2"``.

    Returns
    -------
    tuple
        Where it is, and either the text of its file or the times, shape (n_jobs,
        n_machines).

    Raises
    ------
    InstanceError
        No folder, or no such instance in it; says where it was looked for.
    """
    folder = data_folder(data_dir, name)
    places, damaged = places_in(folder)
    place = places.get(name)
    if place is None:
        raise InstanceError(
            f"{name}: expected {name}_Gap.txt, a .zip archive or vrf_*.npz "
            f"with it, got no such thing in {str(folder)!r} or two levels below; the "
            f"benchmark is published at {PUBLISHED}"
            + "".join(f"; {text}" for text in damaged)
        )
    return place, content_of(place)


def data_folder(
    data_dir: str | os.PathLike[str] | None, where: str = "data_dir"
) -> Path:
    """Return the folder of benchmark files; InstanceError if there is none."""
    given = os.environ.get(DATA_VARIABLE) if data_dir is None else data_dir
    if not given:
        refuse(
            where,
            f"data_dir (--data) or {DATA_VARIABLE} to name the folder with VRF files "
            f"(published at {PUBLISHED})",
            "neither",
        )
    folder = Path(given)
    if not folder.is_dir():
        refuse(where, "a folder of VRF instances", f"{str(folder)!r}, which is none")
    return folder


def content_of(place: Place) -> str | NDArray[Any]:
    """Return the text of an instance, or its times, shape (n_jobs, n_machines)."""
    path, member = place
    if member is None:
        try:
            return decoded(read_file(path, MOST_BYTES), str(path))
        except OSError as error:
            refuse(str(path), "a readable file", f"an error: {error.strerror}")
    if path.suffix.lower() == ".npz":
        with _archive(path) as archive:
            _check_size(place, archive.zip.getinfo(f"{member}.npy"))
            times: NDArray[Any] = archive[member].T
        return times
    try:
        with zipfile.ZipFile(noted(path)) as archive:
            _check_size(place, archive.getinfo(member))
            return decoded(archive.read(member), str(place))
    except InstanceError:
        raise
    except (EOFError, OSError, RuntimeError, ValueError) as error:
        refuse(str(place), "a text file", f"an error: {error}")
    except (zipfile.BadZipFile, zlib.error) as error:
        refuse(str(place), "a text file", f"an error: {error}")


def _check_size(place: Place, member: zipfile.ZipInfo) -> None:
    if member.file_size > MOST_BYTES:
        refuse(str(place), f"at most {MOST_BYTES:,} bytes", f"{member.file_size:,}")


def _archive(file: Path) -> Any:
    return numpy_file(file, "an archive of NumPy arrays", np.lib.npyio.NpzFile)
