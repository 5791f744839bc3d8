"""Every way of being let in, for each of the clients: ours, Faust's, Java's; and what the doctor says of wrong ones."""

from __future__ import annotations

import asyncio
import random
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer
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
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth
from faust.types.auth import to_credentials

from saffron.cli.checks.of_cluster import cluster_findings
from saffron.cli.finding import ERROR
from saffron.control.kafka_credentials import credentials
from saffron.errors import LogError
from saffron.runtime.local import jars, jvm
from saffron.runtime.local.broker_settings import JVM
from saffron.runtime.log import TopicPartition, TopicSpec
from saffron.runtime.log.ends import read_to_end
from saffron.runtime.log.kafka.kafka_log import KafkaLog, connect
from saffron.runtime.log.kafka.librdkafka_settings import Cluster
from saffron.runtime.log.security.java_security import java_settings
from saffron.runtime.log.security.security import security_of
from saffron.runtime.process.config import Settings
from saffron.runtime.result_formats.rows import RowFormats
from saffron.runtime.results.published import PublishedTopics
from tests.contracts.log.talk import until
from tests.e2e.broker.guarded import CERTIFICATES, Guarded, guarded_broker

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

_UNSECURED = (
    "sasl.mechanism=OAUTHBEARER,enable.sasl.oauthbearer.unsecure.jwt=true,sasl.oauthbearer.config=principal=admin"
)
_OTHER = str(CERTIFICATES / "another_authority.pem")
NAMED = Settings(security="sasl_plaintext", username="admin", password="right")
TLS = Settings(security="ssl", ca=str(CERTIFICATES / "authority.pem"))
CERTIFIED = replace(
    TLS,
    certificate=str(CERTIFICATES / "client.pem"),
    certificate_key=str(CERTIFICATES / "client_key.pem"),
    certificate_key_password="right",
)
WAYS = {
    "plain": ("users", replace(NAMED, mechanism="PLAIN")),
    "scram-256": ("users", replace(NAMED, mechanism="SCRAM-SHA-256")),
    "scram-512": ("users", NAMED),
    "oauth": ("users", Settings(security="sasl_plaintext", kafka=_UNSECURED)),
    "encrypted": ("tls", replace(NAMED, security="sasl_ssl", ca=TLS.ca)),
    "certificate": ("certified", CERTIFIED),
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded_broker(tmp_path_factory.mktemp("guarded")) as found:
        admin = AdminClient({"bootstrap.servers": found.open, "log_level": 0})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            credential = UserScramCredentialUpsertion("admin", ScramCredentialInfo(mechanism, 4096), b"right")
            admin.alter_user_scram_credentials([credential])["admin"].result()
        KafkaLog(Cluster(found.open)).create_topics([TopicSpec("t", 1, {})])
        yield found


@pytest.fixture(params=WAYS)
def let_in(request: pytest.FixtureRequest, guarded: Guarded) -> Settings:
    """Settings that lead to a door and open it."""
    door, settings = WAYS[request.param]
    return replace(settings, bootstrap=getattr(guarded, door))


def test_our_clients_are_let_in(let_in: Settings) -> None:
    log = connect(let_in)
    assert log.partitions("t") == 1
    producer = log.producer("tx")
    producer.begin()
    producer.send("t", 0, b"{}")
    producer.commit()
    consumer = log.consumer("g", committed_only=True)
    end = consumer.watermarks(TopicPartition("t", 0))[1]
    assert read_to_end(consumer, {TopicPartition("t", 0): max(0, end - 2)}, batch=10, polls=200)[-1].value == b"{}"
    log.close()


def test_faust_is_let_in(let_in: Settings) -> None:
    async def partitions() -> Any:
        consumer = AIOKafkaConsumer(
            "t",
            bootstrap_servers=let_in.bootstrap,
            **credentials_to_aiokafka_auth(to_credentials(credentials(security_of(let_in)))),
        )
        await consumer.start()
        try:
            return consumer.partitions_for_topic("t")
        finally:
            await consumer.stop()

    assert asyncio.run(partitions()) == {0}


def test_java_is_let_in(let_in: Settings, tmp_path: Path) -> None:
    lines = {**java_settings(security_of(let_in)), "default.api.timeout.ms": "10000", "request.timeout.ms": "5000"}
    given = tmp_path / "client.properties"
    given.write_text("".join(f"{name}={_property(value)}\n" for name, value in lines.items()), "utf-8")
    told = ["kafka.admin.ConfigCommand", "--bootstrap-server", let_in.bootstrap, "--command-config", str(given)]
    asked = ["--entity-type", "topics", "--entity-name", "t", "--describe"]
    paths = ":".join(map(str, jars.ensure(jars.KAFKA)))
    done = subprocess.run(
        [str(jvm.find_java().path), *JVM, "-cp", paths, *told, *asked],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "Dynamic configs for topic t" in done.stdout, done.stdout + done.stderr


def _property(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def wrong(settings: Settings) -> list[str]:
    """What the doctor says is wrong with the connection, and the fix."""
    found = cluster_findings(settings, None, lambda: int(time.time() * 1000))
    return [f"{one.what} | {one.fix}" for one in found if one.state == ERROR and one.check in ("security", "broker")]


def test_the_doctor_names_what_is_wrong_with_the_way_in(guarded: Guarded) -> None:
    users = replace(NAMED, bootstrap=guarded.users)
    certified = replace(CERTIFIED, bootstrap=guarded.certified)
    for settings, what, fix in (
        (replace(users, password="wrong"), "wrong name or password for 'admin'", "with SCRAM-SHA-512"),
        (replace(users, mechanism="PLAIN", password="wrong"), "wrong name or password for 'admin'", "with PLAIN"),
        (
            Settings(bootstrap=guarded.users, security="sasl_plaintext", kafka=_UNSECURED.replace("admin", "a b")),
            "OAUTHBEARER is refused", "SAFFRON_KAFKA",
        ),
        (replace(certified, ca=_OTHER), "certificate is not believed", "SAFFRON_CA"),
        (replace(TLS, bootstrap=guarded.certified), "wants a client's certificate", "SAFFRON_CERTIFICATE=FILE"),
        (Settings(bootstrap=guarded.certified), "wants a client's certificate", "SAFFRON_SECURITY=ssl"),
        (
            replace(certified, certificate=str(CERTIFICATES / "unknown_client.pem")),
            "does not believe our certificate", "signed which the brokers trust",
        ),
        (replace(certified, certificate_key_password="wrong"), "client refuses its settings", "config show"),
    ):  # fmt: skip
        (found,) = wrong(settings)
        said, _, mend = found.partition(" | ")
        assert what in said, found
        assert fix in mend, found
        assert "right" not in found, "no secret is shown"


def test_rights_on_a_topic_of_publish_are_missed_by_name(guarded: Guarded) -> None:
    admin = AdminClient({"bootstrap.servers": guarded.open, "log_level": 0})
    guest = Settings(bootstrap=guarded.users, security="sasl_plaintext", kafka=_UNSECURED.replace("=admin", "=guest"))
    spec = TopicSpec("", 1, {})

    def prepared(topic: str) -> str:
        log = connect(guest)
        try:
            return PublishedTopics(log, spec, RowFormats(guest)).prepare(topic)
        finally:
            log.close()

    def allow(topic: str, operation: AclOperation) -> None:
        pattern = ResourceType.TOPIC, topic, ResourcePatternType.LITERAL
        binding = AclBinding(*pattern, "User:guest", "*", operation, AclPermissionType.ALLOW)
        admin.create_acls([binding])[binding].result()

    KafkaLog(Cluster(guarded.open)).create_topics([TopicSpec("alerts", 1, {})])
    assert "there is no right to create it" in prepared("alerts")
    allow("alerts", AclOperation.DESCRIBE)
    until(lambda: prepared("alerts").startswith("there is no right to write to topic 'alerts'"))
    allow("alerts", AclOperation.WRITE)
    until(lambda: prepared("alerts") == "")
    assert "there is no right to create it" in prepared("new")
    allow("new", AclOperation.CREATE)
    until(lambda: prepared("new").startswith("topic 'new'") or prepared("new").startswith("there is no right to write"))
    allow("new", AclOperation.WRITE)
    until(lambda: prepared("new") == "")


def test_a_transaction_that_the_broker_refuses_names_the_topic_of_publish(guarded: Guarded) -> None:
    admin = AdminClient({"bootstrap.servers": guarded.open, "log_level": 0})
    guest = Settings(bootstrap=guarded.users, security="sasl_plaintext", kafka=_UNSECURED.replace("=admin", "=guest"))
    small = TopicSpec("small", 1, {"max.message.bytes": "1000"})
    KafkaLog(Cluster(guarded.open)).create_topics([TopicSpec("mine", 1, {}), TopicSpec("taken", 1, {}), small])
    rights = [(ResourceType.TOPIC, topic, AclOperation.WRITE) for topic in ("mine", "small")]
    rights += [(ResourceType.TOPIC, "taken", AclOperation.DESCRIBE)]
    rights += [(ResourceType.TRANSACTIONAL_ID, "refused", AclOperation.WRITE)]
    bindings = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, "User:guest", "*", operation, AclPermissionType.ALLOW)
        for kind, name, operation in rights
    ]
    for done in admin.create_acls(bindings).values():
        done.result()
    log = connect(guest)
    published = PublishedTopics(log, TopicSpec("", 1, {}), RowFormats(guest))
    until(lambda: published.prepare("mine") == published.prepare("small") == "")

    def sent(topic: str, value: bytes) -> str:
        """What a transaction with this message ends with."""
        published.partitions(topic)
        producer = log.producer("refused")
        try:
            producer.begin()
            producer.send("mine", 0, b"x")
            producer.send(topic, 0, value)
            producer.commit()
        except LogError as error:
            return f"{type(error).__name__} {sorted(published.blame(error))}"
        finally:
            producer.close()
        return "committed"

    try:
        assert sent("taken", b"x") == "DeniedError ['taken']"
        assert sent("small", random.Random(1).randbytes(5000)) == "TooLargeError ['small']"
        assert sent("small", b"x") == "committed"
    finally:
        log.close()


@pytest.mark.parametrize("seen", [False, True], ids=["not even seen", "seen"])
def test_a_subscribed_topic_that_may_not_be_read_is_named_and_the_others_are_read(guarded: Guarded, seen: bool) -> None:
    admin = AdminClient({"bootstrap.servers": guarded.open, "log_level": 0})
    user = f"reader{seen:d}"
    guest = Settings(bootstrap=guarded.users, security="sasl_plaintext", kafka=_UNSECURED.replace("=admin", f"={user}"))
    topics = [f"free{seen:d}", f"closed{seen:d}"]
    owner = KafkaLog(Cluster(guarded.open))
    owner.create_topics([TopicSpec(topic, 1, {}) for topic in topics])

    def right(kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
        pattern = kind, name, ResourcePatternType.LITERAL
        return AclBinding(*pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)

    def allow(*rights: AclBinding) -> None:
        for done in admin.create_acls(list(rights)).values():
            done.result()

    to_read = right(ResourceType.TOPIC, topics[1], AclOperation.READ)
    allow(
        right(ResourceType.TOPIC, topics[0], AclOperation.READ), right(ResourceType.GROUP, user, AclOperation.READ),
        *([right(ResourceType.TOPIC, topics[1], AclOperation.DESCRIBE)] if seen else []),
    )  # fmt: skip
    producer = owner.producer()
    log = connect(guest)
    consumer = log.consumer(user, committed_only=True)
    found: list[str] = []

    def begin(places: list[TopicPartition]) -> None:
        for place in places:
            consumer.seek(place, 0)

    consumer.subscribe(topics, begin, lambda _: None, lambda _: None)

    def read(*wanted: str) -> bool:
        found.extend(record.topic for record in consumer.poll(10, 0.05))
        return set(wanted) <= set(found)

    try:
        for topic in topics:
            producer.send(topic, 0, b"x")
        producer.flush(10)
        until(lambda: read(topics[0]) and consumer.denied() == {topics[1]})
        assert topics[1] not in found
        allow(to_read)
        until(lambda: read(*topics) and not consumer.denied())
    finally:
        log.close()
        producer.close()
        owner.close()
