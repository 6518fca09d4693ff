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
from typing import NamedTuple

from dpbb.errors import InstanceError, refuse
from dpbb.flowshop.best_known import benchmark_name
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

    @property
    def file(self) -> Path:
        """Name of the instance's own file."""
        return self.path if self.member is None else Path(self.member)


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
        places = [Place(file)]
        if file.suffix.lower() != ".txt":
            try:
                with zipfile.ZipFile(file) as archive:
                    places = [Place(file, name) for name in archive.namelist()]
            except (OSError, zipfile.BadZipFile) as error:
                # of another's perhaps: all others are read
                damaged.append(f"{file}: expected a ZIP archive, got an error: {error}")
                continue
        for place in places:
            name = benchmark_name(place.file.stem) or ""
            known = place.file.suffix.lower() in (".txt", ".npy")
            if known and name.startswith("VFR"):
                found.setdefault(name, place)
    return found, damaged


def find_vrf(name: str, data_dir: str | os.PathLike[str] | None) -> Place:
    """Find an instance by its name as the benchmark has it, such as ``"VFR30_15_2"``.

    InstanceError: no folder, or no such instance in it; says where it was looked for.
    """
    folder = data_folder(data_dir, name)
    places, damaged = places_in(folder)
    if name not in places:
        raise InstanceError(
            f"{name}: expected {name}_Gap.txt, a .zip archive or vrf_*.npz "
            f"with it, got no such thing in {str(folder)!r} or two levels below; the "
            f"benchmark is published at {PUBLISHED}"
            + "".join(f"; {text}" for text in damaged)
        )
    return places[name]


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


def content_of(place: Place) -> bytes:
    """Return what is in an instance's own file."""
    try:
        if place.member is None:
            return read_file(place.path, MOST_BYTES)
        with zipfile.ZipFile(noted(place.path)) as archive:
            size = archive.getinfo(place.member).file_size
            if size > MOST_BYTES:
                refuse(str(place), f"at most {MOST_BYTES:,} bytes", f"{size:,}")
            return archive.read(place.member)
    except InstanceError:
        raise
    except (
        *(EOFError, OSError, RuntimeError, ValueError),
        *(zipfile.BadZipFile, zlib.error),
    ) as error:
        refuse(str(place), "a readable file", f"an error: {error}")
