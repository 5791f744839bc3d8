"""What k8s/ says of every pod, and that Kubernetes and the operators would accept it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from saffron.errors import SettingsError
from saffron.runtime.local.state import SERVICES
from saffron.runtime.process import config
from saffron.runtime.telemetry.metric_kinds import Counter
from saffron.runtime.telemetry.metric_names import METRICS
from tests.contracts.k8s.kustomize import Resource, build, key_of
from tests.contracts.k8s.validation import faults

ROOT = Path(__file__).resolve().parents[3]
OVERLAYS = sorted(path.parent.name for path in (ROOT / "k8s" / "overlays").glob("*/kustomization.yaml"))
COMPONENT = "app.kubernetes.io/component"
SYSTEMS = ("dev", "prod", "keda", "spark-operator")
"""Overlays that are a whole system; others stand beside one."""


@cache
def resources(overlay: str) -> Mapping[tuple[str, str], Resource]:
    return {key_of(one): one for one in build(ROOT / "k8s" / "overlays" / overlay)}


def of_kind(overlay: str, *kinds: str) -> list[Resource]:
    return [one for (kind, _), one in resources(overlay).items() if kind in kinds]


def templates(overlay: str) -> Iterator[tuple[str, Resource]]:
    """(what it is of, template) of every pod of ours."""
    for one in of_kind(overlay, "Deployment", "StatefulSet"):
        yield one["metadata"]["name"], one["spec"]["template"]
    for one in of_kind(overlay, "SparkApplication"):
        for part in ("driver", "executor"):
            yield part, one["spec"][part]["template"]


def environment(overlay: str, pod: Resource) -> dict[str, Any]:
    """The variables of its service; of a value from elsewhere, where it is from."""
    (container,) = pod["containers"]
    found: dict[str, Any] = {}
    for one in container.get("envFrom", ()):
        if "configMapRef" in one:
            found |= resources(overlay)["ConfigMap", one["configMapRef"]["name"]]["data"]
    return found | {one["name"]: one.get("value", one.get("valueFrom")) for one in container.get("env", ())}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubernetes_and_the_operators_accept_it(overlay: str) -> None:
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, **template["metadata"]},
            "spec": template["spec"],
        }
        for name, template in templates(overlay)
    ]
    wrong = [(key_of(one), found) for one in (*resources(overlay).values(), *pods) if (found := faults(one))]
    assert wrong == []


def test_what_is_misspelt_or_of_the_wrong_kind_is_found() -> None:
    deployment = resources("prod")["Deployment", "saffron-control"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    spec = {**deployment["spec"]["template"]["spec"], "containers": [{**container, "livenessprobe": {}}]}
    template = {**deployment["spec"]["template"], "spec": spec}
    assert faults({**deployment, "spec": {**deployment["spec"], "template": template}})
    topic = resources("prod")["KafkaTopic", "saffron.events"]
    assert faults({**topic, "spec": {**topic["spec"], "partition": 3}})
    assert faults({**topic, "spec": {**topic["spec"], "partitions": "3"}})


@pytest.mark.parametrize("overlay", SYSTEMS)
def test_every_pod_is_restricted(overlay: str) -> None:
    for name, template in templates(overlay):
        pod = template["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"].items() >= {
            "runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"},
        }.items(), name  # fmt: skip
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert pod["automountServiceAccountToken"] is (name == "driver"), name
        assert pod["enableServiceLinks"] is False, "SAFFRON_CONTROL_PORT=tcp://... is no setting"
        assert template["metadata"]["labels"]["app.kubernetes.io/part-of"] == "saffron", "no network policy is of it"
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted >= {"tmp"}, name


@pytest.mark.parametrize("overlay", SYSTEMS)
def test_every_service_runs_once_with_probes_and_memory_that_is_its_own(overlay: str) -> None:
    seen = [one["spec"]["arguments"][1] for one in of_kind(overlay, "SparkApplication")]
    for one in of_kind(overlay, "Deployment", "StatefulSet"):
        (container,) = one["spec"]["template"]["spec"]["containers"]
        saffron, run, service = container["command"]
        assert (saffron, run, f"saffron-{service}") == ("saffron", "run", one["metadata"]["name"])
        seen.append(service)
        requested, limit = container["resources"]["requests"], container["resources"]["limits"]
        assert (requested["memory"], "cpu" in requested, "cpu" in limit) == (limit["memory"], True, False)
        paths = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
        assert paths == {"startup": "/readyz", "readiness": "/readyz", "liveness": "/healthz"}
        labels = one["spec"]["selector"]["matchLabels"]
        assert labels.items() <= one["spec"]["template"]["metadata"]["labels"].items()
        budget = resources(overlay)["PodDisruptionBudget", one["metadata"]["name"]]["spec"]
        assert budget == {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    assert sorted(seen) == sorted(name.replace("_", "-") for name in SERVICES)


@pytest.mark.parametrize("overlay", SYSTEMS)
def test_every_variable_is_a_setting_that_the_service_takes(overlay: str, tmp_path: Path) -> None:
    for name, template in templates(overlay):
        given = environment(overlay, template["spec"])
        if name == "executor":
            continue
        plain = {name: value for name, value in given.items() if isinstance(value, str)}
        assert given.keys() - plain.keys() <= {"SAFFRON_TOKEN", "SAFFRON_PASSWORD"}
        settings = config.load(environ={**plain, "SAFFRON_TOKEN": "t", "HOME": str(tmp_path)}).settings
        ports = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
        assert ports.items() <= {"metrics": settings.metrics_port, "http": settings.control_port}.items()
    with pytest.raises(SettingsError):
        config.load(environ={"SAFFRON_CONTROL_PORT": "tcp://10.0.0.1:80", "HOME": str(tmp_path)})


@pytest.mark.parametrize("overlay", SYSTEMS)
def test_what_is_named_is_there(overlay: str) -> None:
    """ConfigMaps and claims are among the resources; secrets are made by Strimzi, but for the token of control."""
    there = set(resources(overlay))
    secrets = {name for kind, name in there if kind == "KafkaUser"} | {"saffron-cluster-ca-cert", "saffron-control"}
    for _, template in templates(overlay):
        for kind, name in references(template["spec"]):
            assert name in secrets if kind == "Secret" else (kind, name) in there, (kind, name)


def references(node: Any) -> Iterator[tuple[str, str]]:
    fields = {"configMapRef": "name", "configMap": "name", "secretKeyRef": "name", "secret": "secretName"}
    for name, value in node.items() if isinstance(node, dict) else enumerate(node):
        if name in fields:
            yield "ConfigMap" if str(name).startswith("configMap") else "Secret", value[fields[name]]
        elif name == "persistentVolumeClaim":
            yield "PersistentVolumeClaim", value["claimName"]
        elif isinstance(value, dict | list):
            yield from references(value)


def test_versions_are_that_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    for overlay in SYSTEMS:
        for _, template in templates(overlay):
            assert template["spec"]["containers"][0]["image"].endswith(f":{version}")
    for one in of_kind("prod", "StatefulSet"):
        assert one["metadata"]["labels"]["app.kubernetes.io/version"] == version
        for claim in one["spec"]["volumeClaimTemplates"]:
            assert "app.kubernetes.io/version" not in claim["metadata"]["labels"], "it could never be changed"


def test_nothing_reaches_a_pod_but_what_a_policy_names() -> None:
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind("prod", "NetworkPolicy")}
    ours = {"matchLabels": {"app.kubernetes.io/part-of": "saffron"}}
    assert policies["saffron-nothing-else"] == {"podSelector": ours, "policyTypes": ["Ingress", "Egress"]}
    assert policies["saffron-to-kafka"]["egress"][0]["to"], "to Strimzi's brokers only"
    for one in policies.values():
        for rule in one.get("ingress", ()):
            assert rule["from"]
            assert rule["ports"]


def test_scaling_is_slow_to_shrink_never_to_nothing_and_asks_for_what_is_exported() -> None:
    exported = {f"{one.name}_total" if isinstance(one, Counter) else one.name for one in METRICS}
    partitions = resources("keda")["KafkaTopic", "saffron.admitted"]["spec"]["partitions"]
    for one in of_kind("keda", "ScaledObject"):
        spec = one["spec"]
        target = resources("keda")["StatefulSet", spec["scaleTargetRef"]["name"]]
        assert "replicas" not in target["spec"], "who applies it would undo the scaling"
        assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (1, partitions)
        behavior = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        assert behavior["scaleDown"]["stabilizationWindowSeconds"] >= 300
        assert behavior["scaleDown"]["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 300}]
        for trigger in spec["triggers"]:
            query = trigger["metadata"]["query"]
            assert set(re.findall(r"\bsaffron_\w+", query)) <= exported
            assert f'job="{target["metadata"]["labels"][COMPONENT]}"' in query
