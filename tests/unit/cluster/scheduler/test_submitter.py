"""Keys of futures, and security of the scheduler's own client."""

from distributed.security import Security

from dpbb.cluster.scheduler.submitter import key_of, loopback_security
from dpbb.coordination.messages import Assignment


def test_every_attempt_has_a_key_of_its_own():
    """Dask would take a used key for a task that it knows."""
    keys = {
        key_of("run", Assignment(unit, attempt, "seat"))
        for unit in range(3)
        for attempt in range(3)
    }
    assert len(keys) == 9
    assert "dpbb-run-1-2" in keys


def test_scheduler_shows_its_own_certificate_if_it_has_no_other():
    """A scheduler that was given CA and its own certificate has no client context."""
    own = Security(
        require_encryption=True,
        tls_ca_file="ca.pem",
        tls_scheduler_cert="scheduler.pem",
        tls_scheduler_key="scheduler.key",
    )
    found = loopback_security(own)
    assert found.tls_client_cert == "scheduler.pem"
    assert found.tls_client_key == "scheduler.key"
    assert found.tls_ca_file == "ca.pem"
    assert found.require_encryption
    full = Security(tls_ca_file="ca.pem", tls_client_cert="client.pem")
    assert loopback_security(full) is full
    plain = Security()
    assert loopback_security(plain) is plain
