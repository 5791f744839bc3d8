"""KafkaTopics and KafkaUsers (Strimzi) from schemas/: `python tools/k8s_topics.py [STREAM...]` writes them anew.

STREAM: each stream besides the default one; its topics and what the services may do with them are made as well. The
files have nothing of a stream that is not named.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

K8S = Path(__file__).resolve().parents[1] / "k8s"
TOPICS = K8S / "topics" / "topics.yaml"
USERS = K8S / "overlays" / "prod" / "users.yaml"
PREFIX = "saffron."
CLUSTER = "saffron"

_HEAD = "# Made by tools/k8s_topics.py from schemas/, which is where to change anything.\n"
_API = "kafka.strimzi.io/v1"
_SOURCE = "events"
_ROUTER = "router"
_PARTITIONS = 12
"""The partitions of a stream's topics; an overlay may change them, for all alike."""
_REPLICAS, _IN_SYNC = 3, 2
_RESOURCE_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
"""What Kubernetes takes as the name of a resource (RFC 1123)."""


@dataclass(frozen=True)
class User:
    """One client. `group`: the consumer group that it joins, by prefix where its members are told apart.

    `transactions`: it writes under a transactional id for each partition. `looks`: what it asks of topics that it need
    not read. `routes`: it makes streams from others, with a group for each, and writes their topics in transactions.
    """

    service: str
    group: str = ""
    by_prefix: bool = False
    transactions: bool = False
    looks: tuple[str, ...] = ()
    routes: bool = False

    @property
    def name(self) -> str:
        return f"saffron-{self.service.replace('_', '-')}"


_USERS = (
    User("windowing", "windowing", routes=True),
    User("shedder", "shedder"),
    User("matcher", "matcher", transactions=True),
    User("greta", "greta", transactions=True),
    User("control", "control.", by_prefix=True, looks=("Describe",)),
    User("model_builder", "model-builder", by_prefix=True),
    User("cli", looks=("Describe", "DescribeConfigs")),
)


def topics(streams: Sequence[str] = ()) -> str:
    """The file of all topics."""
    return _text(_topic(name, one) for one in _schemas() for name in _names(one, streams))


def users(streams: Sequence[str] = ()) -> str:
    """The file of all users, each with no more than it needs."""
    return _text(_user(user, streams) for user in _USERS)


@cache
def _schemas() -> list[Mapping[str, Any]]:
    files = sorted((K8S.parent / "schemas").glob("*.yaml"))
    return [yaml.safe_load(path.read_text("utf-8")) for path in files]


def _names(one: Mapping[str, Any], streams: Sequence[str]) -> list[str]:
    """Full names of the topics of one file: that of the default stream, and where streams have their own, theirs."""
    topic = one["topic"]
    own = [] if topic != _SOURCE and not one["per_stream"] else streams
    return [PREFIX + topic, *(PREFIX + (name if topic == _SOURCE else f"{name}.{topic}") for name in own)]


def _topic(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
    of_stream = one["partitions"] == "stream"
    resource = _resource(name)
    return {
        "apiVersion": _API,
        "kind": "KafkaTopic",
        "metadata": _metadata(resource, "stream" if of_stream else "control"),
        "spec": {
            **({} if resource == name else {"topicName": name}),
            "partitions": _PARTITIONS if of_stream else one["partitions"],
            "replicas": _REPLICAS,
            "config": {**one["config"], "min.insync.replicas": _IN_SYNC},
        },
    }


def _resource(topic: str) -> str:
    """The name of a topic's resource: the topic's own, or one that Kubernetes takes, different for each topic."""
    if _RESOURCE_NAME.fullmatch(topic):
        return topic
    parts = (re.sub(r"[^a-z0-9]+", "-", part.lower()).strip("-") for part in topic.split("."))
    return f"{'.'.join(part or 'x' for part in parts)}-{zlib.crc32(topic.encode()):08x}"


def _user(user: User, streams: Sequence[str]) -> dict[str, Any]:
    return {
        "apiVersion": _API,
        "kind": "KafkaUser",
        "metadata": _metadata(user.name, user.service.replace("_", "-")),
        "spec": {
            "authentication": {"type": "scram-sha-512"},
            "authorization": {"type": "simple", "acls": list(_acls(user, streams))},
        },
    }


def _acls(user: User, streams: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Reading and writing imply Describe. Whoever writes claims reads them back, and with them all of its output."""
    for one in _schemas():
        writes = user.service in one["producers"]
        reads = user.service in one["consumers"] or (writes and "claim" in one.get("headers", {}))
        for name in _names(one, streams):
            made = not user.routes or name != PREFIX + _SOURCE  # the default stream is made from none
            if operations := ["Read"] * reads + ["Write"] * (writes and made):
                yield _acl("topic", name, operations)
    if user.looks:
        yield _acl("topic", PREFIX, list(user.looks), by_prefix=True)
    if user.group:
        yield _acl("group", PREFIX + user.group, ["Read"], by_prefix=user.by_prefix)
    if user.routes:
        yield _acl("group", f"{PREFIX}{_ROUTER}.", ["Read"], by_prefix=True)
    yield _acl("group", PREFIX, ["Describe"], by_prefix=True)
    if user.transactions or user.routes:
        ids = user.service if user.transactions else _ROUTER
        yield _acl("transactionalId", f"{PREFIX}{ids}.", ["Write"], by_prefix=True)


def _acl(kind: str, name: str, operations: list[str], *, by_prefix: bool = False) -> dict[str, Any]:
    pattern = "prefix" if by_prefix else "literal"
    return {"resource": {"type": kind, "name": name, "patternType": pattern}, "operations": operations}


def _metadata(name: str, component: str) -> dict[str, Any]:
    return {"name": name, "labels": {"strimzi.io/cluster": CLUSTER, "app.kubernetes.io/component": component}}


def _text(resources: Iterator[dict[str, Any]]) -> str:
    return _HEAD + yaml.safe_dump_all(resources, sort_keys=False, width=120)


if __name__ == "__main__":
    TOPICS.write_text(topics(sys.argv[1:]), "utf-8")
    USERS.write_text(users(sys.argv[1:]), "utf-8")
