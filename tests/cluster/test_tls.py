"""Encrypted clusters: everything of ours uses the scheduler's certificates."""

from __future__ import annotations

import pytest
from distributed import Client, LocalCluster, Security

from dpbb.cluster.run import submit_run
from tests.cluster.support import MIDDLE, as_is, counts, spec_of

pytest.importorskip("cryptography")

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


def test_a_temporary_certificate_is_enough():
    security = Security.temporary()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            security=security,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster, security=security, set_as_default=False) as client,
    ):
        assert cluster.scheduler_address.startswith("tls://")
        instance, ub, *golden = MIDDLE
        with submit_run(client, spec_of(instance, ub), make_result=as_is) as run:
            assert counts(run.result(60)) == tuple(golden)
