"""Every service as k8s/overlays/prod says, on a broker that lets each do only what its KafkaUser may.

Of the manifests two things are changed: where Kafka is, and that it is spoken to without TLS.
"""

from __future__ import annotations

import base64
import re
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from saffron.runtime.log.kafka.kafka_log import KafkaLog
from saffron.runtime.log.kafka.librdkafka_settings import Cluster
from saffron.runtime.log.topics import Topics, topic_specs
from saffron.runtime.process.config import Settings
from tests.contracts.k8s.kustomize import Resource, build
from tests.e2e.broker.guarded import Guarded, guarded_broker
from tests.e2e.broker.processes import END
from tests.e2e.cluster.pods import ROOT, Pod

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PROD = build(ROOT / "k8s" / "overlays" / "prod")
USERS = [one for one in PROD if one["kind"] == "KafkaUser"]
TOPICS = Topics(Settings().prefix)
RISES = """QUERY rises PATTERN SEQ(Stock a, Stock b) WHERE skip-till-next-match { [symbol] AND b.price > a.price }
WITHIN 1 hour"""
COUNTS = "QUERY counts PATTERN Stock S+ WHERE [symbol] GROUP BY symbol WITHIN 4 seconds RETURN symbol, COUNT(*)"
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
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded_broker(tmp_path_factory.mktemp("guarded")) as found:
        yield found


@pytest.fixture
def all_pods(tmp_path: Path, guarded: Guarded) -> Iterator[dict[str, Pod]]:
    """All services, and their users with all their rights; started by the test."""
    log = KafkaLog(Cluster(guarded.open))
    log.create_topics(topic_specs(TOPICS.prefix, 1))
    let_in(guarded.open, USERS)
    maps = {one["metadata"]["name"]: one["data"] for one in PROD if one["kind"] == "ConfigMap"}
    changed = {"SAFFRON_BOOTSTRAP": guarded.users, "SAFFRON_SECURITY": "sasl_plaintext"}
    workloads = [one for one in PROD if one["kind"] in ("Deployment", "StatefulSet")]
    found = [Pod(one, maps, secret, tmp_path, changed) for one in workloads]
    yield {pod.name.removeprefix("saffron-"): pod for pod in found}
    for pod in found:
        pod.kill()
    log.close()


@pytest.fixture
def pods(all_pods: dict[str, Pod]) -> dict[str, Pod]:
    """All but the model builder, which takes long to start."""
    return {name: pod for name, pod in all_pods.items() if name != "model-builder"}


def secret(name: str, key: str) -> str:
    return f"{name} {key}, to be kept"


def let_in(bootstrap: str, users: list[Resource]) -> None:
    """What Strimzi's user operator does."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
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


def test_services_run_as_the_manifests_say(pods: dict[str, Pod], guarded: Guarded, tmp_path: Path) -> None:
    for pod in pods.values():
        pod.start()
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
    produce(guarded.open)
    control.wait("results", lambda: seen(control, token) == {"rises", "counts"}, 60)
    assert control.ask("GET", "/api/queries", port="http", token="wrong")[0] == 401
    status, answer = control.ask("GET", "/api/queries/rises/why?ask=symbol%3DIBM", port="http", token=token)
    assert status == 200, answer
    for path in ("/", "/openapi.json", "/page.js"):
        status, answer = control.ask("GET", path, port="http", token=token)
        assert status == 200, path
        keeps_secrets(path, answer)
    for name, pod in pods.items():
        for path in ("/metrics", "/status", "/readyz", "/healthz"):
            keeps_secrets(f"{name}{path}", pod.ask("GET", path, port="metrics")[1])
        keeps_secrets(f"{name}'s settings", pod.command("config", "show", "--json", "--origin"))
        keeps_secrets(f"{name}'s settings", pod.command("config", "show", "--origin"))
        pod.dump()
        assert (name, pod.end()) == (name, 0)
        assert "uthorization" not in pod.words(), f"{name} was refused something:\n{pod.words()}"
        keeps_secrets(f"{name}'s log", pod.everything().encode())
    assert guarded.denied() == []
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("snapshots" in path.parts for path in kept), "snapshots are among what is looked at"
    for one in kept:
        keeps_secrets(str(one), one.read_bytes())


def keeps_secrets(where: str, content: bytes) -> None:
    """No password, no token: as they are, or as HTTP's Basic would have them."""
    for name in ("saffron-control token", *(f"{one['metadata']['name']} password" for one in USERS)):
        said = secret(*name.split()).encode()
        for form in (said, base64.b64encode(said), urllib.parse.quote(said).encode()):
            assert form not in content, f"{where} tells {name}"


def seen(control: Pod, token: str) -> set[str]:
    """The queries that the results are of."""
    status, answer = control.ask("GET", "/api/results", port="http", token=token)
    found: Any = orjson.loads(answer) if status == 200 else {"results": []}
    return {one["query"] for one in found["results"]}


def produce(bootstrap: str, *others: bytes) -> None:
    """A few events, other messages before them, and their end."""
    log = KafkaLog(Cluster(bootstrap))
    producer = log.producer()
    for other in others:
        producer.send(TOPICS.events, 0, other, key=b"IBM")
    for number in range(20):
        event = {"type": "Stock", "ts": 1_000 * number, "symbol": "IBM", "price": number}
        producer.send(TOPICS.events, 0, orjson.dumps(event), key=b"IBM")
    producer.send(TOPICS.events, 0, END)
    producer.flush(20)
    producer.close()
    log.close()


# ---------------------------------------------------------------- rights that are missing

_TOLD = re.compile(
    r"(?:WARNING|ERROR) saffron\.(?:"
    r"(?:kafka|runtime\.hops\.[a-z_]+): (.*TOPIC_AUTHORIZATION_FAILED.*)|"
    r"model_builder\.main: model-builder: (.*AUTHORIZATION_FAILED.*); trying again in 2 s|"
    r"model_builder\.main: models of removed queries could not be withdrawn, trying again: (.*AUTHORIZATION_FAILED.*)|"
    r"(?:runtime\.service|control\.main): [a-z-]+: (.*AUTHORIZATION_FAILED.*); starting again in 1 s|"
    r"control\.tail: (.*AUTHORIZATION_FAILED.*); trying again in 10 s|"
    r"control\.guard: [A-Z]+ /api/\S+: (.*AUTHORIZATION_FAILED.*))$",
    re.MULTILINE,
)
_KNOWN_BEFORE = {
    "windowing": {"saffron.streams", "saffron.queries", "saffron.router."},
    "greta": {"saffron.streams", "saffron.queries", "saffron.dead-letters"},
    "matcher": {"saffron.streams", "saffron.queries", "saffron.observations.", "saffron.dead-letters"},
    "shedder": {"saffron.streams", "saffron.models"},
    "control": {"saffron.admitted", "saffron.dead-letters", "saffron.events", "saffron.streams"},
    "model-builder": {"saffron.health", "saffron.model-builder"},
}
"""Topics that are asked for in the same way as others that are not here, or only when there is a letter."""


class Walk:
    """A service that begins with few rights, and is given one after the other: what its log asks for."""

    def __init__(self, pod: Pod, known: set[str], admin: AdminClient) -> None:
        self._pod, self._admin = pod, admin
        (user,) = (one for one in USERS if one["metadata"]["name"] == pod.name)
        rights = list(bindings_of(user))
        self.missing = [one for one in rights if not any(one.name.startswith(name) for name in known)]
        self._heard = 0
        settle(admin.delete_acls([AclBindingFilter(*fields_of(one)) for one in self.missing]))

    def step(self) -> None:
        """Give it what each new line asks for. AssertionError: the line does not say it."""
        told = ["".join(found) for found in _TOLD.findall(self._pod.everything())]
        for line in told[self._heard :]:
            asked = [one for one in self.missing if one.name in line]
            if asked:  # else it had begun before it was given the last one
                settle(self._admin.create_acls(asked[:1]))
                self.missing.remove(asked[0])
        self._heard = len(told)

    def give_up(self) -> str:
        return (
            f"{self._pod.name} lacks {[(one.name, one.operation.name) for one in self.missing]}:\n{self._pod.words()}"
        )


def test_each_missing_right_is_told_and_the_service_goes_on_when_it_is_there(
    pods: dict[str, Pod], guarded: Guarded
) -> None:
    admin = AdminClient({"bootstrap.servers": guarded.open, "log_level": 0})
    walks = {name: Walk(pod, _KNOWN_BEFORE[name], admin) for name, pod in pods.items()}
    for pod in pods.values():
        pod.start()
    control, token = pods["control"], secret("saffron-control", "token")
    produce(guarded.open, b"no event, for the dead letters")
    to_add = [orjson.dumps({"text": text, "from": "earliest"}) for text in (RISES, COUNTS)]

    def reached() -> bool:
        for walk in walks.values():
            walk.step()
        while to_add and control.ask("POST", "/api/queries", to_add[0], port="http", token=token)[0] == 201:
            del to_add[0]
        return seen(control, token) == {"rises", "counts"} and not any(walk.missing for walk in walks.values())

    try:
        control.wait("results", reached, 180)
    except AssertionError as error:
        raise AssertionError("\n".join(walk.give_up() for walk in walks.values())) from error
    for name in walks:
        pods[name].wait("readiness", lambda name=name: pods[name].answers("readiness"), 60)  # type: ignore[misc]
        assert pods[name].end() == 0


def test_the_model_builder_is_told_its_missing_rights_before_spark_is(
    all_pods: dict[str, Pod], guarded: Guarded
) -> None:
    pod = all_pods["model-builder"]
    walk = Walk(pod, _KNOWN_BEFORE["model-builder"], AdminClient({"bootstrap.servers": guarded.open, "log_level": 0}))
    pod.start()

    def reached() -> bool:
        walk.step()
        return not walk.missing and pod.answers("readiness")

    try:
        pod.wait("readiness", reached, 120)
    except AssertionError as error:
        raise AssertionError(walk.give_up()) from error
    settled = time.monotonic() + 6
    pod.wait("the first batch of Spark", lambda: time.monotonic() > settled, 30)  # its end amid that is no clean one
    assert pod.end() == 0


def settle(outcomes: dict[Any, Any]) -> None:
    for outcome in outcomes.values():
        outcome.result()


def fields_of(one: AclBinding) -> tuple[Any, ...]:
    return one.restype, one.name, one.resource_pattern_type, one.principal, one.host, one.operation, one.permission_type
