"""deploy/kubernetes: kinds, required fields, and names that have to agree."""

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from dpbb.cli import EXIT_BAD_INPUT, EXIT_ERROR

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))
MANIFESTS = [
    (file.name, manifest)
    for file in FILES
    for manifest in yaml.safe_load_all(file.read_text())
]
IDS = [f"{name}-{manifest['kind']}" for name, manifest in MANIFESTS]

KUBERNETES = "1.31"  # of the schemas


def pods():
    """Every pod, with the name of its manifest and its labels."""
    for name, manifest in MANIFESTS:
        spec = manifest.get("spec", {})
        if manifest["kind"] == "Job":
            template = spec["template"]
            yield name, template["spec"], template["metadata"]["labels"]
        for component in ("scheduler", "worker"):
            if component in spec:
                cluster = spec.get("cluster", manifest["metadata"]["name"])
                labels = {  # as the operator sets them
                    "dask.org/cluster-name": cluster,
                    "dask.org/component": component,
                }
                yield name, spec[component]["spec"], labels


PODS = list(pods())
POD_IDS = [f"{name}-{labels}" for name, _, labels in PODS]


def gpus_of(container):
    """How many GPUs, or parts of one, by resource."""
    limits = container["resources"]["limits"]
    return {name: n for name, n in limits.items() if name.startswith("nvidia.com/")}


def wants_gpu(container):
    return bool(gpus_of(container))


@pytest.mark.parametrize(("name", "pod", "labels"), PODS, ids=POD_IDS)
def test_pod_is_within_the_restricted_standard(name, pod, labels):
    """Every control of the Pod Security Standards, levels baseline and restricted.

    https://kubernetes.io/docs/concepts/security/pod-security-standards/
    """
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & pod.keys()
    context = pod["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 0
    assert context["seccompProfile"]["type"] in ("RuntimeDefault", "Localhost")
    assert context.keys() <= {"runAsNonRoot", "runAsUser", "fsGroup", "seccompProfile"}
    for volume in pod.get("volumes", []):
        assert volume.keys() == {"name", "persistentVolumeClaim"}
    assert not {"initContainers", "ephemeralContainers"} & pod.keys()
    for container in pod["containers"]:
        own = container["securityContext"]
        assert own == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }
        assert not any("hostPort" in port for port in container.get("ports", []))
        assert not {"lifecycle"} & container.keys()  # no probe of another host
        for probe in ("readinessProbe", "livenessProbe"):
            assert "host" not in container.get(probe, {}).get("httpGet", {})


def test_errors_end_the_job_and_a_lost_scheduler_does_not():
    """By dpbb's exit codes; a disruption is not counted at all."""
    (job,) = (m for _, m in MANIFESTS if m["kind"] == "Job")
    spec = job["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    ignore, fail = spec["podFailurePolicy"]["rules"]
    assert fail["action"] == "FailJob"
    assert fail["onExitCodes"] == {
        "containerName": container["name"],
        "operator": "In",
        "values": [EXIT_ERROR, EXIT_BAD_INPUT],
    }
    assert ignore["action"] == "Ignore"
    # the API server refuses the policy with any other
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_gpu_workers_have_one_gpu_and_offer_it_alone():
    workers = [
        container
        for _, pod, labels in PODS
        for container in pod["containers"]
        if labels.get("dask.org/component") == "worker"
    ]
    assert any(map(wants_gpu, workers))
    for worker in workers:
        environ = {entry["name"]: entry["value"] for entry in worker["env"]}
        assert environ["DPBB_SEATS"] == ("gpu" if wants_gpu(worker) else "cpu")
        assert worker["args"][:2] == ["dask", "worker"]
        given = dict(pairwise(worker["args"]))
        assert given["--nworkers"] == "1"
        assert given["--dashboard-address"] == "127.0.0.1:0"  # else on all interfaces
        assert list(gpus_of(worker).values()) in ([], ["1"])


def test_everything_finds_its_cluster():
    """Service, group, autoscaler and the job's address name the one cluster."""
    kinds = {}
    for _, manifest in MANIFESTS:
        kinds.setdefault(manifest["kind"], []).append(manifest)
    (manifest,) = kinds["DaskCluster"]
    cluster, scheduler = manifest["metadata"]["name"], manifest["spec"]["scheduler"]
    assert scheduler["service"]["selector"] == {
        "dask.org/cluster-name": cluster,
        "dask.org/component": "scheduler",
    }
    (container,) = scheduler["spec"]["containers"]
    named = {port["name"]: port["containerPort"] for port in container["ports"]}
    for port in scheduler["service"]["ports"]:
        assert named[port["targetPort"]] == port["port"]
    for kind in ("DaskWorkerGroup", "DaskAutoscaler"):
        assert [one["spec"]["cluster"] for one in kinds[kind]] == [cluster]
    (job,) = kinds["Job"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert f"tcp://{cluster}-scheduler:8786" in container["args"]


def test_policies_let_the_right_pods_in():
    """The scheduler: workers and jobs. Every selector means a pod that exists."""
    labels = [labels for _, _, labels in PODS]
    policies = [m for _, m in MANIFESTS if m["kind"] == "NetworkPolicy"]
    for policy in policies:
        assert meant(policy["spec"]["podSelector"]["matchLabels"], labels)
    (scheduler,) = (p for p in policies if p["metadata"]["name"] == "dpbb-scheduler")
    comm, operator, prometheus = scheduler["spec"]["ingress"]
    for rule, namespace in ((operator, "dask-operator"), (prometheus, "monitoring")):
        (source,) = rule["from"]
        selected = source["namespaceSelector"]["matchLabels"]
        assert selected == {"kubernetes.io/metadata.name": namespace}
    assert prometheus["ports"] == [{"protocol": "TCP", "port": 8787}]  # not 8786
    allowed = [
        found
        for rule in comm["from"]
        for found in meant(rule["podSelector"]["matchLabels"], labels)
    ]
    components = {
        found.get("dask.org/component", found.get("app.kubernetes.io/component"))
        for found in allowed
    }
    assert components == {"worker", "client"}


def meant(selector, labels):
    return [found for found in labels if selector.items() <= found.items()]


@pytest.mark.parametrize(("name", "manifest"), MANIFESTS, ids=IDS)
def test_manifest_is_of_the_published_schema(name, manifest):
    """No unknown field, none of another type; of the operator's kinds, their parts."""
    validate = pytest.importorskip("kubernetes_validate").validate
    if not manifest["apiVersion"].startswith("kubernetes.dask.org/"):
        validate(manifest, KUBERNETES, strict=True)
        return
    parts = [manifest["spec"].get(part, {}) for part in ("scheduler", "worker")]
    for kind, key in (("Pod", "spec"), ("Service", "service")):
        for part in parts:
            if key in part:
                whole = {"apiVersion": "v1", "kind": kind, "spec": part[key]}
                validate({**whole, "metadata": {"name": "x"}}, KUBERNETES, strict=True)
