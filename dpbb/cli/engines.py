"""``dpbb engines``."""

import argparse
from dataclasses import asdict

from dpbb.text.json_text import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="one JSON array on stdout")


def run(args: argparse.Namespace) -> int:
    """Show which engines can run here, with their devices."""
    from dpbb.engines.registry import available_engines, get_engine

    found = []
    for name, reason in available_engines().items():
        devices = [] if reason is not None else get_engine(name).devices()
        found.append((name, reason, devices))
    if args.json:
        keys = ("engine", "reason", "devices")
        rows = [(name, why, [asdict(one) for one in got]) for name, why, got in found]
        print(json_text([dict(zip(keys, row, strict=True)) for row in rows]))
        return 0
    for name, reason, devices in found:
        print(f"{name:<10} {reason or 'available'}")
        for device in devices:
            print(
                f"{'':<10} - {device.name or device.kind}, {device.threads} thread(s)"
            )
    return 0
