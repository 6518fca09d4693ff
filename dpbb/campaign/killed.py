"""What an attempt has left that was killed before its record was written."""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import TYPE_CHECKING

from dpbb.campaign.folder import CHECKPOINTS
from dpbb.cluster.storage.checkpoint_folder import load_checkpoint
from dpbb.errors import CheckpointError
from dpbb.result import Proof, Status, Termination
from dpbb.solving.resume import options_before, strategy_before

if TYPE_CHECKING:
    from pathlib import Path

    from dpbb.campaign.folder import CampaignFolder, Record


def after_kill(record: Record, file: Path, folder: CampaignFolder) -> Record:
    """Return a record with what the last checkpoint knows; as it was if nothing newer.

    Parameters
    ----------
    file
        Of the record: one that is younger than the checkpoints knows what they say.
    """
    own = folder.path / CHECKPOINTS / folder.label(record)
    times = [one.stat().st_mtime for one in own.glob("*.dpbb")]
    if record.proved or max(times, default=0.0) <= file.stat().st_mtime:
        return record
    try:
        saved = load_checkpoint(str(own))
    except CheckpointError:  # as the next attempt will say
        return record
    problem = saved.spec.problem
    if problem.digest != record.digest or saved.seconds <= record.seconds:
        return record
    options = options_before(saved)
    least = min((unit.least_lb for unit in saved.units), default=saved.ub)
    return replace(
        record,
        status=str(Status.UNKNOWN if saved.value is None else Status.FEASIBLE),
        termination=str(Termination.STOPPED),
        proof=str(Proof.OPEN_ROOTS),
        makespan=saved.value,
        permutation=saved.permutation,
        lower_bound=max(record.lower_bound or 0, min(least, saved.ub)),
        decomposed=saved.counters.decomposed,
        leaves=saved.counters.leaves,
        seconds=saved.seconds,
        explore_seconds=saved.explore_s,
        gpu_seconds=saved.gpu_s,
        energy_j=saved.energy_j,
        engine=", ".join(sorted(set(saved.seats.values()))),
        attempts=record.attempts + 1,
        checkpoint=f"{CHECKPOINTS}/{own.name}",
        checkpoint_host=platform.node(),
        strategy=str(strategy_before(saved)),
        bound=saved.spec.tree.bound,
        heuristics=str(options.heuristics),
        trajectory=tuple(
            (round(step.seconds, 3), step.value, step.source)
            for step in saved.trajectory
        ),
        error="",
    )
