"""The benchmark of Vallada, Ruiz and Framinan (EJOR 240(3), 2015) by name.

The instances are not part of the package: a folder is searched for text files
(``VFR30_15_2_Gap.txt``) and for the archives ``vrf_small.npz`` and ``vrf_large.npz``
(one array of shape (n_machines, n_jobs) per name), also in its subfolder ``vrf``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpbb.errors import InstanceError
from dpbb.flowshop.table_formats import numpy_file
from dpbb.flowshop.times import refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

VRF_NAME = re.compile(
    r"VFR(\d{1,9})_(\d{1,9})_(\d{1,9})(?:_Gap)?", re.IGNORECASE | re.ASCII
)
DATA_VARIABLE = "DPBB_DATA"
"""Environment variable that names the folder of benchmark files."""


def find_vrf(
    name: str, data_dir: str | os.PathLike[str] | None
) -> tuple[str, Path | NDArray[Any]]:
    """Find an instance by its name.

    Parameters
    ----------
    name
        Matches ``VRF_NAME``.
    data_dir
        Folder to search; default: the one that ``DPBB_DATA`` names.

    Returns
    -------
    tuple
        The canonical name, and either the path of a text file or the times, shape
        (n_jobs, n_machines).

    Raises
    ------
    InstanceError
        No folder, or no such instance in it; says where it was looked for.
    """
    match = VRF_NAME.fullmatch(name)
    if match is None:
        refuse("VRF instance", "a name like VFR30_15_2", repr(name))
    canonical = "VFR" + "_".join(str(int(number)) for number in match.groups())
    given = os.environ.get(DATA_VARIABLE) if data_dir is None else data_dir
    if not given:
        refuse(
            canonical,
            f"data_dir (--data) or {DATA_VARIABLE} to name the folder with VRF files",
            "neither",
        )
    folder = Path(given)
    if not folder.is_dir():
        refuse(
            canonical, "a folder of VRF instances", f"{str(folder)!r}, which is none"
        )
    for place in (folder, folder / "vrf"):
        for file in (place / f"{canonical}_Gap.txt", place / f"{canonical}.txt"):
            if file.is_file():
                return canonical, file
        for file in (place / "vrf_small.npz", place / "vrf_large.npz"):
            if file.is_file() and (times := _from_archive(file, canonical)) is not None:
                return canonical, times
    raise InstanceError(
        f"{canonical}: expected {canonical}_Gap.txt, vrf_small.npz or vrf_large.npz "
        f"with it, got no such thing in {str(folder)!r} or its subfolder 'vrf'"
    )


def _from_archive(file: Path, name: str) -> NDArray[Any] | None:
    """Return the times of one instance; None when the archive does not hold it."""
    expected = "an archive of NumPy arrays"
    with numpy_file(file, expected) as archive:
        if not isinstance(archive, np.lib.npyio.NpzFile):
            refuse(str(file), expected, "a single array")
        times: NDArray[Any] | None = None
        if name in archive.files:
            times = archive[name].T
    return times
