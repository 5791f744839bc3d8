"""Settings of librdkafka's own that a user gives beside ours: read from a text or a file, and refused where they must.

The setting `kafka` holds NAME=VALUE pairs apart by commas, or the path of a file with one on each line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from saffron.errors import SettingsError

_NAME = re.compile(r"[a-z][a-z0-9._]*", re.ASCII)
_ONE_EACH = "a value with commas stands in a file, one NAME=VALUE on each line (SAFFRON_KAFKA names the file)"

_OURS: Mapping[str, str] = {
    "bootstrap.servers": "bootstrap", "metadata.broker.list": "bootstrap", "security.protocol": "security",
    "ssl.ca.location": "ca", "ssl.certificate.location": "certificate", "ssl.key.location": "certificate_key",
    "ssl.key.password": "certificate_key_password", "sasl.username": "username", "sasl.password": "password",
    "session.timeout.ms": "session_ms", "transaction.timeout.ms": "transaction_ms",
    "ssl.ca.pem": "ca", "ssl.certificate.pem": "certificate", "ssl.key.pem": "certificate_key",
    "ssl.truststore.location": "ca", "sasl.jaas.config": "username, password and mechanism",
}  # fmt: skip
"""Librdkafka's name (two are Java's) -> the setting of ours that says it."""

_BY_MECHANISM = frozenset({"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
_IDEMPOTENT = "producers are idempotent, so that no message is lost, doubled or out of order"
_POSITIONS = "positions travel in transactions and blocks, and are committed with the results"
_MEMBERS = "each service shares partitions among its members in its own way"
_BOUNDS = "topics take blocks and results up to 16 MiB"
_PROGRAM = "it names a function of a program"
_ONLY_TESTS = "it replaces the brokers by a mock"
_REASONS: Mapping[str, str] = {
    "enable.idempotence": _IDEMPOTENT, "acks": _IDEMPOTENT, "request.required.acks": _IDEMPOTENT,
    "max.in.flight": _IDEMPOTENT, "max.in.flight.requests.per.connection": _IDEMPOTENT, "retries": _IDEMPOTENT,
    "message.send.max.retries": _IDEMPOTENT, "enable.gapless.guarantee": _IDEMPOTENT, "queuing.strategy": _IDEMPOTENT,
    "message.timeout.ms": _IDEMPOTENT, "delivery.timeout.ms": _IDEMPOTENT,
    "delivery.report.only.error": "a lost message is found by its report",
    "transactional.id": "each member and partition has its own, by which a predecessor is fenced",
    "isolation.level": "each consumer reads what it must: services only what is committed",
    "enable.auto.commit": _POSITIONS, "auto.commit.enable": _POSITIONS, "auto.commit.interval.ms": _POSITIONS,
    "enable.auto.offset.store": _POSITIONS, "offset.store.method": _POSITIONS,
    "auto.offset.reset": "a missing offset is reported, and never skipped (where a source starts, its definition says)",
    "enable.partition.eof": "the end of a partition decides what is idle",
    "group.id": "each service has its own, with the prefix", "group.instance.id": _MEMBERS, "group.protocol": _MEMBERS,
    "group.remote.assignor": _MEMBERS, "partition.assignment.strategy": _MEMBERS, "heartbeat.interval.ms": _MEMBERS,
    "partitioner": "a key has one partition for all clients: murmur2, as Java's",
    "message.max.bytes": _BOUNDS, "receive.message.max.bytes": _BOUNDS,
    "allow.auto.create.topics": "topics are made with their settings in schemas/ only",
    "topic.blacklist": "definitions and the prefix say which topics are read",
    "client.id": "brokers' logs and quotas tell our clients by it",
    "test.mock.num.brokers": _ONLY_TESTS, "test.mock.broker.rtt": _ONLY_TESTS,
    "logger": _PROGRAM, "error_cb": _PROGRAM, "stats_cb": _PROGRAM, "throttle_cb": _PROGRAM, "oauth_cb": _PROGRAM,
    "on_delivery": _PROGRAM, "on_commit": _PROGRAM, "log_cb": _PROGRAM, "default.topic.config": _PROGRAM,
}  # fmt: skip
"""Settings that would break exactly once, or what our clients rely on -> why."""


def read_client_settings(text: str) -> Mapping[str, str]:
    """Librdkafka's settings by name in the value of the setting `kafka`. SettingsError: one of them is refused.

    Errors name settings, and never show a value: it may be a secret.
    """
    found: dict[str, str] = {}
    for name, value in _pairs(text):
        if name in found:
            raise SettingsError(f"setting 'kafka' has {name} twice: leave one of them out")
        _refuse(name, value)
        found[name] = value
    return found


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """Names and values, from the text or from its file."""
    if not text.strip():
        return
    if "=" not in text:
        lines, origin = _lines(text.strip()), f"file {text.strip()} (setting 'kafka'), line"
    else:
        lines, origin = text.split(","), "setting 'kafka', part"
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not _NAME.fullmatch(name):
            hint = _ONE_EACH if "=" in text else "lines with # in front are comments"
            raise SettingsError(f"{origin} {number} is no NAME=VALUE: {hint}")
        yield name, value


def _lines(path: str) -> list[str]:
    """The lines of a file of client settings. SettingsError: it cannot be read."""
    try:
        return Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SettingsError(
            f"setting 'kafka' names the file {path}, which cannot be read ({why}): give NAME=VALUE,... or such a file"
        ) from None


def _refuse(name: str, value: str) -> None:
    """SettingsError: the setting is another one of ours, or must be as it is."""
    ours = _OURS.get(name)
    if name in ("sasl.mechanism", "sasl.mechanisms") and value.upper() in _BY_MECHANISM:
        ours = "mechanism"
    if ours is not None:
        raise SettingsError(f"setting 'kafka' has {name}: the setting {ours} says it")
    if (why := _REASONS.get(name)) is not None:
        raise SettingsError(f"setting 'kafka' has {name}, which cannot be changed, as {why}: leave it out")
