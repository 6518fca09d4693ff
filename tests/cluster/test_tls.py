"""Clusters whose connections are encrypted; dashboards that only this host sees."""

import datetime

import dask
import pytest
from distributed import Client, Scheduler, Worker
from distributed.security import Security
from distributed.utils_test import gen_test

import dpbb
from dpbb.cluster.client.connect import connect
from dpbb.cluster.local import embedded_cluster
from dpbb.errors import ClusterError, SchedulerLostError
from tests.cluster.support import SMALL, counts, local_cluster, spec_of, submit

pytestmark = pytest.mark.cluster


def test_temporary_security_end_to_end():
    """A cluster of processes with certificates of its own."""
    instance, ub, *golden = SMALL
    how = {"security": Security.temporary(), "protocol": "tls://"}
    with local_cluster(processes=True, **how) as (_, client):
        assert client.scheduler.address.startswith("tls://")
        result = dpbb.solve(
            instance, client=client, cutoff=ub, engine="reference", verbosity="quiet"
        )
    assert (result.decomposed, result.leaves) == tuple(golden)


@pytest.fixture
def certificates(tmp_path):
    """A CA and two certificates that it signed, as files: scheduler and others."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)

    def name(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    def sign(subject, key, signer, *, is_ca):
        return (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("ca"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), True)
            .sign(signer, hashes.SHA256())
        )

    def write(file, content):
        (tmp_path / file).write_bytes(content)
        return str(tmp_path / file)

    pem = serialization.Encoding.PEM
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = sign("ca", ca_key, ca_key, is_ca=True)
    files = {"ca": write("ca.pem", ca.public_bytes(pem))}
    for who in ("scheduler", "other"):
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = sign(who, key, ca_key, is_ca=False)
        files[f"{who}_cert"] = write(f"{who}.pem", certificate.public_bytes(pem))
        private = key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        files[f"{who}_key"] = write(f"{who}.key", private)
    return files


LOCAL = {"protocol": "tls://", "host": "127.0.0.1", "port": 0}
LOCAL |= {"dashboard_address": "127.0.0.1:0"}


@gen_test(timeout=100)
async def _runs_with(scheduler_security, others):
    instance, ub, *golden = SMALL
    async with (
        Scheduler(security=scheduler_security, **LOCAL) as scheduler,
        Worker(scheduler.address, nthreads=1, security=others),
        Client(scheduler.address, security=others, asynchronous=True) as client,
    ):
        spec = spec_of(instance, ub, engine="reference")
        run = await submit(client, spec)
        assert counts(await run.result()) == tuple(golden)
        await run.close()


PARTS = "cert", "key"


def test_scheduler_that_has_only_its_own_certificate(certificates):
    """Our client of the scheduler's own address shows the scheduler's certificate."""
    ca = {"require_encryption": True, "tls_ca_file": certificates["ca"]}
    own = {f"tls_scheduler_{part}": certificates[f"scheduler_{part}"] for part in PARTS}
    security = Security(**ca, **own)
    assert security.tls_client_cert is None
    others = Security(**ca, **{
        f"tls_{who}_{part}": certificates[f"other_{part}"]
        for who in ("client", "worker") for part in PARTS
    })  # fmt: skip
    _runs_with(security, others)


CA, CERT, KEY = (
    f"distributed.comm.tls.{name}" for name in ("ca-file", "client.cert", "client.key")
)


@pytest.mark.parametrize(
    ("address", "settings", "match"),
    [
        ("tls://127.0.0.1:1", {CA: "ca"}, "got not all three"),
        ("tls://127.0.0.1:1", {CA: "no.pem"}, "got no no.pem"),
        (
            "tls://127.0.0.1:1",
            {CA: "ca", CERT: "other_cert", KEY: "scheduler_key"},
            "expected certificates in .*mismatch",
        ),
        (
            "tcp://127.0.0.1:1",
            {"distributed.comm.require-encryption": True},
            "expected an address tls://.*, got tcp://127.0.0.1:1",
        ),
    ],
)
def test_certificates_that_are_missing_are_told(certificates, address, settings, match):
    """Before anybody is asked; never by the key's text."""
    files = {name: certificates.get(value, value) for name, value in settings.items()}
    with (
        dask.config.set(files),
        pytest.raises(ClusterError, match=match) as caught,
        connect(address),
    ):
        pass
    assert not isinstance(caught.value, SchedulerLostError)  # to try again is no use
    assert "PRIVATE" not in str(caught.value)


def test_certificate_of_another_cluster_is_told(certificates):
    how = {"security": Security.temporary(), "protocol": "tls://"}
    with (
        local_cluster(0, **how) as (cluster, _),
        dask.config.set(
            {CA: certificates["ca"]}
            | {CERT: certificates["other_cert"], KEY: certificates["other_key"]}
        ),
        pytest.raises(ClusterError, match="TLS certificate does not match") as caught,
        connect(cluster.scheduler_address),
    ):
        pass
    assert not isinstance(caught.value, SchedulerLostError)


def test_dashboard_of_the_embedded_cluster_is_for_this_host_alone():
    with embedded_cluster(workers=1, threads=1, engine="reference") as (cluster, _):
        server = cluster.scheduler.http_server
        addresses = {s.getsockname()[0] for s in server._sockets.values()}
    assert addresses == {"127.0.0.1"}
