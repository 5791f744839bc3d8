"""Every service as k8s/overlays/prod says, on a broker that lets each do only what its KafkaUser may.

Of the manifests two things are changed: where Kafka is, and that it is spoken to without TLS.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from saffron.runtime.broker import Broker, free_ports
from saffron.runtime.config import Settings
from saffron.runtime.kafka_log import KafkaLog
from saffron.runtime.kafka_settings import Cluster
from saffron.runtime.topics import Topics, topic_specs
from tests.contracts.k8s.kustomize import Resource, build
from tests.e2e.pods import ROOT, Pod
from tests.e2e.processes import END

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

TOPICS = Topics(Settings().prefix)
RISES = """QUERY rises PATTERN SEQ(Stock a, Stock b) WHERE skip-till-next-match { [symbol] AND b.price > a.price }
WITHIN 1 hour"""
COUNTS = "QUERY counts PATTERN Stock S+ WHERE [symbol] GROUP BY symbol WITHIN 4 seconds RETURN symbol, COUNT(*)"
_GUARDED = r"""
listeners=PLAINTEXT://127.0.0.1:{client},SASL_PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{client},SASL_PLAINTEXT://127.0.0.1:%d
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config=\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
"""
_RESOURCES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactionalId": ResourceType.TRANSACTIONAL_ID,
}
_PATTERNS = {"literal": ResourcePatternType.LITERAL, "prefix": ResourcePatternType.PREFIXED}
_OPERATIONS = {
    "Read": AclOperation.READ,
    "Write": AclOperation.WRITE,
    "Describe": AclOperation.DESCRIBE,
    "DescribeConfigs": AclOperation.DESCRIBE_CONFIGS,
}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """(where everything is allowed, where only users are let in) of a broker with an authorizer."""
    (port,) = free_ports(1)
    node = Broker(tmp_path / "broker", more=_GUARDED % (port, port))
    node.start()
    yield node.bootstrap, f"127.0.0.1:{port}"
    node.stop()
    denied = [line for line in node.log_path.read_text("utf-8").splitlines() if " is Denied " in line]
    assert denied == []


@pytest.fixture
def pods(tmp_path: Path, guarded: tuple[str, str]) -> Iterator[dict[str, Pod]]:
    """All services but the model builder, started, and their users let in."""
    resources = build(ROOT / "k8s" / "overlays" / "prod")
    log = KafkaLog(Cluster(guarded[0]))
    log.create_topics(topic_specs(TOPICS.prefix, 1))
    let_in(guarded[0], [one for one in resources if one["kind"] == "KafkaUser"])
    maps = {one["metadata"]["name"]: one["data"] for one in resources if one["kind"] == "ConfigMap"}
    changed = {"SAFFRON_BOOTSTRAP": guarded[1], "SAFFRON_SECURITY": "sasl_plaintext"}
    workloads = [one for one in resources if one["kind"] in ("Deployment", "StatefulSet")]
    found = [Pod(one, maps, secret, tmp_path, changed) for one in workloads]
    running = {pod.name.removeprefix("saffron-"): pod for pod in found if pod.name != "saffron-model-builder"}
    for pod in running.values():
        pod.start()
    yield running
    for pod in running.values():
        pod.kill()
    log.close()


def secret(name: str, key: str) -> str:
    return f"{name} {key}, to be kept"


def let_in(bootstrap: str, users: list[Resource]) -> None:
    """What Strimzi's user operator does."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    names = [one["metadata"]["name"] for one in users]
    passwords = [UserScramCredentialUpsertion(name, info, secret(name, "password").encode()) for name in names]
    bindings = [binding for one in users for binding in bindings_of(one)]
    outcomes = [*admin.alter_user_scram_credentials(passwords).values(), *admin.create_acls(bindings).values()]
    for outcome in outcomes:
        outcome.result()


def bindings_of(user: Resource) -> Iterator[AclBinding]:
    principal = f"User:{user['metadata']['name']}"
    for rule in user["spec"]["authorization"]["acls"]:
        resource = rule["resource"]
        kind, pattern = _RESOURCES[resource["type"]], _PATTERNS[resource["patternType"]]
        for name in rule["operations"]:
            operation = _OPERATIONS[name]
            yield AclBinding(kind, resource["name"], pattern, principal, "*", operation, AclPermissionType.ALLOW)


def test_services_run_as_the_manifests_say(pods: dict[str, Pod], guarded: tuple[str, str]) -> None:
    for pod in pods.values():
        pod.wait("start", lambda pod=pod: pod.answers("startup"), 60)  # type: ignore[misc]
        assert pod.answers("readiness")
        assert pod.answers("liveness")
    control = pods["control"]
    token = secret("saffron-control", "token")
    assert control.ask("GET", "/api/queries", port="http")[0] == 401
    for text in (RISES, COUNTS):
        status, answer = control.ask("POST", "/api/queries", orjson.dumps({"text": text}), port="http", token=token)
        assert status == 201, answer
    produce(guarded[0])
    control.wait("results", lambda: seen(control, token) == {"rises", "counts"}, 60)
    status, answer = control.ask("GET", "/api/queries/rises/why?ask=symbol%3DIBM", port="http", token=token)
    assert status == 200, answer
    for name, pod in pods.items():
        assert (name, pod.end()) == (name, 0)
        assert "uthorization" not in pod.words(), f"{name} was refused something:\n{pod.words()}"
        assert "to be kept" not in pod.words(), f"{name} tells a secret"


def seen(control: Pod, token: str) -> set[str]:
    """The queries that the results are of."""
    status, answer = control.ask("GET", "/api/results", port="http", token=token)
    found: Any = orjson.loads(answer) if status == 200 else {"results": []}
    return {one["query"] for one in found["results"]}


def produce(bootstrap: str) -> None:
    """A few events, and their end."""
    log = KafkaLog(Cluster(bootstrap))
    producer = log.producer()
    for number in range(20):
        event = {"type": "Stock", "ts": 1_000 * number, "symbol": "IBM", "price": number}
        producer.send(TOPICS.events, 0, orjson.dumps(event), key=b"IBM")
    producer.send(TOPICS.events, 0, END)
    producer.flush(20)
    producer.close()
    log.close()
