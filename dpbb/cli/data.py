"""``dpbb data``."""

import argparse

from dpbb.errors import InstanceError
from dpbb.flowshop.best_known import best_known_names
from dpbb.flowshop.formats import vrf_instance
from dpbb.flowshop.vrf import PUBLISHED, data_folder, places_in
from dpbb.text.json_text import json_text

EPILOG = f"""\
The benchmark of Vallada, Ruiz and Framinan (480 instances) is not part of this package;
its authors publish it at {PUBLISHED}. The archive as it is
downloaded, or unpacked, may lie in the folder or two levels below. All commands find it
with --data FOLDER, or where the environment variable DPBB_DATA names the folder."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what to do, and the folder."""
    parser.add_argument(
        "action", choices=("check",), help="check: read all, compare with the benchmark"
    )
    parser.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="default: $DPBB_DATA"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")


def run(args: argparse.Namespace) -> int:
    """Read every instance of a folder; 1 if one is not what its name says."""
    folder = data_folder(args.folder, "FOLDER")
    places, damaged = places_in(folder)
    known = best_known_names("VFR")
    right, wrong = [], {}
    for name, place in places.items():
        try:
            found = vrf_instance(name, place).best_known
        except InstanceError as error:
            wrong[name] = str(error)
            continue
        if name not in known or (found is not None and found.name == name):
            right.append(name)
        else:
            called = "of none" if found is None else f"of {found.name}"
            wrong[name] = f"{place}: expected the times of {name}, got those {called}"
    missing = sorted(known - set(places))
    failed = bool(wrong or damaged)
    if args.json:
        facts = {"right": right, "wrong": wrong, "missing": missing}
        print(json_text({**facts, "damaged": damaged}))
        return int(failed)
    ours = len(known & set(right))
    print(f"{ours} of {len(known)} VRF instances, with the benchmark's times")
    if len(right) > ours:
        print(
            f"{len(right) - ours} more of such names that the benchmark does not have"
        )
    for text in (*damaged, *wrong.values()):
        print(text)
    if missing:
        some = ", ".join(missing[:4]) + (", ..." if len(missing) > 4 else "")
        print(f"missing: {len(missing)} ({some}); published at {PUBLISHED}")
    return int(failed)
