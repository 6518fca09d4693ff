import json
from dataclasses import replace

import pytest

from dpbb.campaign.folder import CampaignFolder, Record
from dpbb.errors import DpbbError, OptionError

RECORD = Record(
    source="a b.csv", instance="a b", digest="0123456789abcdef", n_jobs=3, n_machines=2,
    permutation=(1, 0, 2), trajectory=((0.5, 9, "neh"),), options={"seed": 0},
)  # fmt: skip


def test_records_are_read_as_they_were_written(tmp_path):
    folder = CampaignFolder(tmp_path / "new" / "campaign")
    folder.save(RECORD)
    assert folder.records() == {RECORD.digest: RECORD}
    assert folder.label(RECORD) == "a_b-0123456789ab"
    (folder.path / "records" / "x.json").write_text('{"instance": 3}')
    with pytest.raises(DpbbError, match=r"x\.json: expected a record, got"):
        folder.records()
    (folder.path / "records" / "x.json").write_text("")
    with pytest.raises(DpbbError, match=r"x\.json: expected .* nothing.* remove the f"):
        folder.records()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_jobs", "20"), ("n_jobs", True), ("limit_s", None), ("best_upper", [1]),
        ("permutation", [0, "1"]), ("trajectory", [[1.0, 2]]), ("digest", {}),
        ("options", []), ("versions", ["dpbb"]), ("totals", {"energy_j": "5"}),
        ("status", "proved"),
    ],
)  # fmt: skip
def test_records_of_others_are_refused_where_a_type_is_wrong(tmp_path, name, value):
    folder = CampaignFolder(tmp_path)
    folder.save(RECORD)
    (file,) = (tmp_path / "records").glob("*.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))
    match = rf"{file.name}: expected a record, got: .*{name}"
    with pytest.raises(DpbbError, match=match):
        folder.records()


def test_a_folder_is_for_one_campaign_at_a_time(tmp_path):
    folder = CampaignFolder(tmp_path)
    with (
        folder.alone(),
        pytest.raises(DpbbError, match=r"used by process \d+ on "),
        CampaignFolder(tmp_path).alone(),
    ):
        pass
    with folder.alone():
        assert (tmp_path / "checkpoints").is_dir()  # no run of two takes it away


def test_no_name_leads_out_of_the_folder(tmp_path):
    folder = CampaignFolder(tmp_path)
    up = replace(RECORD, instance="..", best_upper=5)
    assert folder.label(up) == "..-0123456789ab"
    assert len(folder.label(replace(RECORD, instance="x" * 300))) == 73


def test_nothing_is_written_through_a_link(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.write_text("mine")
    folder = CampaignFolder(tmp_path / "folder")
    files = "records/a.json", "certificates/a.json.gz", "checkpoints/a"
    for name in files:
        part, _, file = name.partition("/")
        link = folder.file(part, file)
        link.symlink_to(theirs)
    (folder.path / "records" / f"{folder.label(RECORD)}.json").symlink_to(theirs)
    folder.save(RECORD)
    for name in files:
        assert not folder.file(*name.split("/")).is_symlink()
    assert theirs.read_text() == "mine"


@pytest.mark.parametrize(
    "part", ["records", "checkpoints", "certificates", "campaign.lock"]
)
def test_a_folder_with_a_part_elsewhere_is_refused(tmp_path, part):
    (tmp_path / "elsewhere").mkdir()
    folder = CampaignFolder(tmp_path / "folder")
    folder.path.mkdir()
    (folder.path / part).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OptionError, match="without links"), folder.alone():
        pass
