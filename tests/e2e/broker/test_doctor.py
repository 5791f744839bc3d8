"""The doctor on a real broker: topics that were changed, a transaction that hangs, and a listener that wants a name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

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

from saffron.cli.checks.of_cluster import cluster_findings
from saffron.cli.finding import ERROR, WARNING
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log import TopicSpec
from saffron.runtime.log.follower import content
from saffron.runtime.log.kafka.kafka_log import KafkaLog, connect
from saffron.runtime.log.kafka.librdkafka_settings import Cluster
from saffron.runtime.log.topics import topic_specs
from saffron.runtime.process.config import Settings
from tests.e2e.broker.guarded import Guarded, guarded_broker

pytestmark = [pytest.mark.kafka]


def wrong(settings: Settings, later: int = 0) -> set[tuple[str, str, str]]:
    """(check, what, where) of all errors; `later`: ms by which our clock has gone on."""
    findings = cluster_findings(settings, None, lambda: int(time.time() * 1000) + later)
    return {(one.check, one.what, one.where) for one in findings if one.state == ERROR}


def test_what_was_changed_at_the_broker_is_named(broker: str, prefix: str) -> None:
    settings = Settings(bootstrap=broker, prefix=prefix)
    log = connect(settings)
    specs = {one.name.removeprefix(prefix): one for one in topic_specs(prefix, 2)}
    specs["windows"] = replace(specs["windows"], partitions=1)
    specs["queries"] = TopicSpec(f"{prefix}queries", 1, {**specs["queries"].config, "cleanup.policy": "delete"})
    load = specs.pop("load")
    log.create_topics(list(specs.values()))
    assert wrong(settings) == {("topics", f"missing: {load.name}", broker)}
    assert {check for check, _, _ in wrong(replace(settings, prefix=f"{prefix}x."))} == {"prefix"}
    log.create_topics([load])
    hanging = log.producer(f"{prefix}foreign")
    hanging.begin()
    hanging.send(f"{prefix}trends", 0, b"{}")
    hanging.flush(10.0)
    found = wrong(settings, later=60_000)
    hanging.abort()
    hanging.close()
    log.close()
    assert ("topics", "cleanup.policy is delete, not compact", f"{prefix}queries") in found
    assert ("partitions", f"1, but 2 are needed: as many as {prefix}events", f"{prefix}windows") in found
    assert ("heartbeat", "never heard of", "matcher") in found
    assert f"{prefix}trends/0" in {where for check, _, where in found if check == "transactions"}


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Guarded]:
    with guarded_broker(tmp_path / "broker") as found:
        yield found


def test_wrong_settings_of_security_and_missing_rights_are_named(guarded: Guarded) -> None:
    open_door, door = guarded.open, guarded.users
    log = KafkaLog(Cluster(open_door))
    log.create_topics(topic_specs("saffron.", 1))
    with_rights(
        open_door,
        (ResourcePatternType.LITERAL, "saffron.queries", AclOperation.READ),
        (ResourcePatternType.PREFIXED, "saffron.o", AclOperation.READ),
    )
    log.close()
    told = ("security", "the listener speaks in the clear and wants a name, we are set to plaintext", door)
    assert wrong(Settings(bootstrap=door)) == {told}
    me = Settings(bootstrap=door, security="sasl_plaintext", username="me", password="wrong")
    assert wrong(me) == {("security", "wrong name or password for 'me'", door)}
    found = wrong(replace(me, password="right"))
    assert ("permissions", "me may not see it", "saffron.health") in found
    assert "saffron.queries" not in {where for _, _, where in found}
    assert wrong(Settings(bootstrap=open_door, security="ssl")) == {
        ("security", "the listener speaks in the clear, we are set to ssl", open_door)
    }


def with_rights(open_door: str, *rights: tuple[ResourcePatternType, str, AclOperation]) -> None:
    """Makes the user "me" with these rights on topics. It may see all of our groups."""
    admin = AdminClient({"bootstrap.servers": open_door, "log_level": 0})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    admin.alter_user_scram_credentials([UserScramCredentialUpsertion("me", info, b"right")])["me"].result()
    for pattern, name, operation in rights:
        allow(admin, AclBinding(ResourceType.TOPIC, name, pattern, "User:me", "*", operation, AclPermissionType.ALLOW))
    pattern, describe = ResourcePatternType.PREFIXED, AclOperation.DESCRIBE
    allow(admin, AclBinding(ResourceType.GROUP, "saffron.", pattern, "User:me", "*", describe, AclPermissionType.ALLOW))


def allow(admin: AdminClient, rule: AclBinding) -> None:
    admin.create_acls([rule])[rule].result()


def test_topics_of_tables_that_lose_rows_or_may_not_be_read_are_named(guarded: Guarded) -> None:
    names = ("sound", "unread", "unseen", "gone", "short")
    log = KafkaLog(Cluster(guarded.open))
    day = {"cleanup.policy": "delete", "retention.ms": "86400000"}
    configs = {"short": day, "orders": {}, **{one: {"cleanup.policy": "compact"} for one in names[:3]}}
    log.create_topics(topic_specs("saffron.", 1) + [TopicSpec(name, 1, config) for name, config in configs.items()])
    tables = ", ".join(f"{{name: {name}, topic: {name}, key: id}}" for name in names)
    definition = AppliedDefinition(f"stream: shop\nsources: [{{topic: orders}}]\ntables: [{tables}]", {"orders": 0}, 1)
    producer = log.producer()
    producer.send(
        "saffron.streams", 0, StreamRecord("shop", "saffron.shop", definition=definition).encode(), key=b"shop"
    )
    producer.send("sound", 0, b'{"id": 1}', key=b"1")
    producer.flush(10.0)
    producer.close()
    log.close()
    literal = ResourcePatternType.LITERAL
    with_rights(
        guarded.open,
        (ResourcePatternType.PREFIXED, "saffron.", AclOperation.ALL),
        *((literal, name, AclOperation.READ) for name in ("sound", "short")),
        (literal, "unread", AclOperation.DESCRIBE),
        *((literal, name, AclOperation.DESCRIBE_CONFIGS) for name in ("sound", "short", "gone")),
        (literal, "gone", AclOperation.READ),
    )
    me = Settings(bootstrap=guarded.users, security="sasl_plaintext", username="me", password="right")
    log = connect(me)
    rows = [one.value for records in content(log, "sound", me.group("tables")) for one in records]
    assert rows == [b'{"id": 1}'], "Kafka asks for rights on the group, and those on ours are enough"
    log.close()
    every = list(cluster_findings(me, None, lambda: int(time.time() * 1000)))
    assert ("stream shop, source orders", "me may not see it") in {(one.where, one.what) for one in every}
    found = [one for one in every if one.check == "tables"]
    assert {
        one.where.removeprefix("stream shop, table "): (one.state, one.what.partition(":")[0]) for one in found
    } == {
        "unread": (ERROR, "me may not read it"),
        "unseen": (ERROR, "me may not see it"),
        "gone": (ERROR, "topic gone does not exist, and no event is read before it does"),
        "short": (WARNING, "rows are deleted (cleanup.policy=delete, retention.ms=86400000)"),
    }
