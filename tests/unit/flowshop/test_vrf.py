import zipfile

import numpy as np
import pytest

from dpbb.errors import InstanceError
from dpbb.flowshop.formats import read_instance

PAIRS = "3 2\n0 1 1 2\n0 3 1 4\n0 5 1 6\n"
TIMES = [[1, 2], [3, 4], [5, 6]]


@pytest.fixture(autouse=True)
def no_default_folder(monkeypatch):
    monkeypatch.delenv("DPBB_DATA", raising=False)


@pytest.mark.parametrize("place", [".", "vrf", "vrf/Small"])
@pytest.mark.parametrize("file", ["VFR3_2_1_Gap.txt", "VFR3_2_1.txt"])
@pytest.mark.parametrize("name", ["VFR3_2_1", "vfr03_2_1_gap"])
def test_text_file_is_found_by_name(tmp_path, monkeypatch, place, file, name):
    (tmp_path / place).mkdir(exist_ok=True, parents=True)
    (tmp_path / place / file).write_text(PAIRS)
    instance = read_instance(name, data_dir=tmp_path)
    assert instance.name == "VFR3_2_1"
    assert instance.times.tolist() == TIMES
    monkeypatch.setenv("DPBB_DATA", str(tmp_path))
    assert read_instance(name) == instance


def test_archive_is_searched_by_name(tmp_path):
    np.savez(tmp_path / "vrf_small.npz", VFR9_2_1=np.ones((2, 9)))
    np.savez(tmp_path / "vrf_large.npz", VFR3_2_1=np.array(TIMES, np.uint8).T)
    assert read_instance("VFR3_2_1", data_dir=tmp_path).times.tolist() == TIMES
    with pytest.raises(InstanceError, match=r"VFR3_2_2: .*_Gap.txt, .* published at"):
        read_instance("VFR3_2_2", data_dir=tmp_path)


def test_published_archive_is_read_as_it_is(tmp_path):
    with zipfile.ZipFile(tmp_path / "VRF_Instances.zip", "w") as archive:
        archive.writestr("Small/VFR3_2_1_Gap.txt", PAIRS)
        archive.writestr("Small/readme.txt", "no instance")
    assert read_instance("VFR3_2_1", data_dir=tmp_path).times.tolist() == TIMES


def test_a_damaged_archive_hides_no_other(tmp_path):
    """It is named where an instance is not found, as it may be in it."""
    (tmp_path / "VFR3_2_1.txt").write_text(PAIRS)
    (tmp_path / "broken.zip").write_bytes(b"no archive")
    assert read_instance("VFR3_2_1", data_dir=tmp_path).times.tolist() == TIMES
    with pytest.raises(InstanceError, match=r"broken\.zip: expected a ZIP archive"):
        read_instance("VFR3_2_2", data_dir=tmp_path)


def test_folder_must_be_named_and_exist(tmp_path):
    with pytest.raises(InstanceError, match=r"--data\) or DPBB_DATA .* got neither"):
        read_instance("VFR3_2_1")
    with pytest.raises(InstanceError, match="expected a folder of VRF instances, got"):
        read_instance("VFR3_2_1", data_dir=tmp_path / "none")


def test_instance_of_another_size_than_its_name_says_is_refused(tmp_path):
    (tmp_path / "VFR2_3_1.txt").write_text(PAIRS)
    with pytest.raises(
        InstanceError, match=r"expected 2 jobs and 3 machines.* got 3 and"
    ):
        read_instance("VFR2_3_1", data_dir=tmp_path)


def test_damaged_archive_is_refused(tmp_path):
    (tmp_path / "vrf_small.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(InstanceError, match="expected a ZIP archive"):
        read_instance("VFR3_2_1", data_dir=tmp_path)
    np.save(tmp_path / "plain.npy", np.ones(3))
    (tmp_path / "plain.npy").rename(tmp_path / "vrf_small.npz")
    with pytest.raises(InstanceError, match="expected a ZIP archive"):
        read_instance("VFR3_2_1", data_dir=tmp_path)


@pytest.mark.data
def test_reference_text_files_equal_the_archive(shared):
    folder = shared / "data/vrf"
    files = sorted(folder.glob("VFR*_Gap.txt"))
    assert len(files) == 4
    with np.load(folder / "vrf_small.npz") as archive:
        for file in files:
            name = file.stem.removesuffix("_Gap")
            expected = archive[name].T.tolist()
            assert (
                read_instance(name, data_dir=shared / "data").times.tolist() == expected
            )
            assert read_instance(file).times.tolist() == expected
    large = read_instance("VFR800_60_10", data_dir=shared / "data")
    assert large.times.shape == (800, 60)
