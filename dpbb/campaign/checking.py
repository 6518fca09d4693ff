"""Records that somebody has changed."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpbb.campaign.folder import DOUBTFUL, CampaignFolder, Record
from dpbb.errors import InstanceError, OptionError
from dpbb.flowshop.best_known import best_known_of_digest
from dpbb.flowshop.family import read_problem
from dpbb.problem import Problem, instance_name_of
from dpbb.proof import checker
from dpbb.proof.certificate import Certificate, check_form
from dpbb.result import Proof, Status


def doubt_of(
    record: Record,
    folder: Path,
    data_dir: str | None = None,
    problem: Problem[Any] | None = None,
) -> str:
    """Return why a record is not to be believed; empty where nothing speaks against it.

    Parameters
    ----------
    folder
        Of its campaign, where its certificate is.
    data_dir
        As of ``read_instance``.
    problem
        What it is a record of; None: the benchmark instance with its digest, if that
        can be read. The schedule is evaluated again.
    """
    value, order, lower = record.makespan, record.permutation, record.lower_bound
    word = record.objective
    if record.status in (Status.OPTIMAL, Status.FEASIBLE) and None in (value, order):
        return f"it is {record.status} without a {word} and its permutation"
    if order is not None and sorted(order) != list(range(record.n_jobs)):
        return f"its permutation is none of {record.n_jobs} jobs"
    if value is not None and lower is not None and lower > value:
        return f"its lower bound {lower} is above its {word} {value}"
    if record.status == Status.OPTIMAL and lower != value:
        return f"it is optimal with {word} {value} and lower bound {lower}"
    if record.proof and record.proof not in list(Proof):
        return f"its proof is {record.proof}, expected {' or '.join(Proof)}"
    known = best_known_of_digest(record.digest)
    if known is not None and (lower or 0) > known.upper_bound:
        return f"its lower bound {lower} is above {known.upper_bound}, which is known"
    found = _doubt_of_certificate(record, folder)
    return found or _doubt_of_schedule(record, problem or _benchmark(record, data_dir))


def _doubt_of_certificate(record: Record, folder: Path) -> str:
    """Compare instance and bound; whether its books hold, ``dpbb verify`` says."""
    if not record.certificate:
        return ""
    name = f"its certificate {record.certificate}"
    if not (folder / record.certificate).is_file():
        return f"{name} is not there"
    try:
        content = Certificate.read(folder / record.certificate).content
        checker.checked(content, check_form)
    except (OptionError, checker.Failed, checker.Unchecked) as error:
        return f"{name} is none: {error}"
    digest, bound = content["instance"]["digest"], content["result"]["lower_bound"]
    known = best_known_of_digest(digest)
    # without the instance's file a table knows no digest, but the benchmark's
    named = not record.digest and known is not None and known.name == record.instance
    if digest != record.digest and not named:
        expected = record.digest[:16] or f"that of {record.instance}"
        got = f"{name} is of an instance with the digest {digest[:16]}"
        return f"{got}, expected {expected}"
    whole = record.proved and record.proof == Proof.TREE_EXHAUSTED
    if bound > (record.lower_bound or 0) or (whole and bound != record.lower_bound):
        return f"{name} has the lower bound {bound}, it has {record.lower_bound}"
    return ""


def _benchmark(record: Record, data_dir: str | None) -> Problem[Any] | None:
    known = best_known_of_digest(record.digest)
    try:
        return None if known is None else read_problem(known.name, data_dir=data_dir)
    except InstanceError:  # its file is not at hand
        return None


def _doubt_of_schedule(record: Record, problem: Problem[Any] | None) -> str:
    if problem is None:
        return ""
    if (problem.digest, problem.n_jobs) != (record.digest, record.n_jobs):
        return f"its digest or size is not that of {instance_name_of(problem)}"
    if record.permutation is None:
        return ""
    value = problem.evaluate(np.array(record.permutation, np.intp))
    if value == record.makespan:
        return ""
    return f"its permutation has {record.objective} {value}, not {record.makespan}"


def read_all(
    paths: Sequence[Path], data_dir: str | None = None
) -> tuple[list[Record], list[str]]:
    """Return the records of campaigns, and which do not hold.

    Of several folders, certificates are named with theirs.
    """
    found, doubts = [], []
    folders = {path.resolve(): path for path in paths}.values()
    for path in folders:
        for file, record in CampaignFolder(path).by_file().items():
            doubt = doubt_of(record, path, data_dir)
            if record.certificate and len(folders) > 1:
                record = replace(record, certificate=str(path / record.certificate))
            if doubt:
                record = replace(record, status=DOUBTFUL, error=doubt)
                doubts.append(f"{file}: {doubt}; not counted")
            found.append(record)
    return found, doubts
