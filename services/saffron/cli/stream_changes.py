"""What `saffron stream add` does: topics made, a record on `streams`; streams of their own, and re-keyed ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import typer

from saffron.cli.client import Client
from saffron.cli.standing import Row, stream_row
from saffron.errors import InputError
from saffron.runtime.topics import DEFAULT_STREAM, stream_topics, topic_files

_NAME = re.compile(r"[A-Za-z0-9_-]+", flags=re.ASCII)
_WITH_REGISTRY = ("avro", "protobuf")


@dataclass(frozen=True)
class Given:
    """What the command was given; None: nothing. Times in ms."""

    name: str
    topic: str | None
    key: str | None
    schema: Mapping[str, Any] | None
    form: str
    registry: str | None
    disorder: int | None
    idle: int | None
    partitions: int | None


def check_name(name: str) -> None:
    """A usage error for a name that no stream can have."""
    if not _NAME.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is no name of a stream: letters, digits, _ and -", param_hint="NAME")


def check_format(form: str, registry: str | None) -> None:
    """A usage error where the format needs a registry, or has none."""
    if form in _WITH_REGISTRY and registry is None:
        raise typer.BadParameter(f"--format {form} needs --registry URL, which knows the messages' schemas")
    if form not in _WITH_REGISTRY and registry is not None:
        raise typer.BadParameter(f"--registry is for avro and protobuf; messages of --format {form} need none")
    if registry is not None:
        parts = urlsplit(registry)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise typer.BadParameter(
                f"{registry!r} is not http://HOST:PORT or https://HOST:PORT", param_hint="--registry"
            )
        if parts.username is not None:
            raise typer.BadParameter(
                "the stream's record is for all to read: give name and password to windowing, as the setting "
                "registry_auth (SAFFRON_REGISTRY_AUTH=USER:PASSWORD)",
                param_hint="--registry",
            )


def put_stream(client: Client, given: Given) -> tuple[Row, int]:
    """A stream on a topic of its own: its record, and how many partitions it has."""
    name, before = given.name, stream_row(client, given.name)
    if before is not None and before.get("from"):
        raise InputError(f"stream {name!r} is made from {before['from']}: give --from, or take another name")
    topic = given.topic or (before or {}).get("topic") or client.settings.prefix + name
    count = _partitions(client, topic, given.partitions)
    framed = {"format": given.form, "registry": given.registry} if given.form != "json" else {}
    _require_format(name, before, framed)
    row = {
        "name": name,
        "topic": topic,
        "key": given.key,
        "schema": given.schema,
        "disorder": given.disorder or 0,
        "idle": given.idle,
        **framed,
    }
    return _put(client, row, count)


def put_rekeyed(client: Client, given: Given, source: str) -> tuple[Row, int]:
    """A stream made from another one, under another key: its record, and how many partitions it has."""
    name, origin = given.name, stream_row(client, source)
    if origin is None:
        raise InputError(f"there is no stream {source!r} to make {name!r} from; `saffron stream list` lists them")
    if origin.get("from"):
        raise InputError(f"stream {source!r} is made from {origin['from']} itself: give --from {origin['from']}")
    if name in (source, DEFAULT_STREAM):
        raise InputError(f"stream {name!r} is there already, with a topic of its own: take another name")
    if given.topic is not None or given.form != "json":
        raise typer.BadParameter("--topic and --format say what a stream of its own is; with --from leave them out")
    count = given.partitions or client.partitions(origin["topic"])
    if given.key is None and count != 1:
        raise typer.BadParameter("--from needs --key ATTR, or --partitions 1: all events in one partition")
    row = {
        "name": name,
        "topic": client.settings.prefix + name,
        "key": given.key,
        "schema": origin["schema"] if given.schema is None else given.schema,
        "disorder": origin["disorder"] if given.disorder is None else given.disorder,
        "idle": given.idle or origin["idle"],
        "from": source,
        **{part: origin[part] for part in ("format", "registry") if origin.get(part)},
    }
    _require_same(row, stream_row(client, name))
    return _put(client, row, _partitions(client, row["topic"], count))


def _put(client: Client, row: Row, count: int) -> tuple[Row, int]:
    name = row["name"]
    client.log.create_topics([] if name == DEFAULT_STREAM else stream_topics(client.settings.prefix, name, count))
    client.put(client.topics.streams, name, row)
    return row, count


def _partitions(client: Client, topic: str, partitions: int | None) -> int:
    """Number of partitions of the stream's topic, which is created if `partitions` says how."""
    there = client.log.partitions(topic)
    if there is None and partitions is None:
        raise InputError(f"topic {topic!r} does not exist: name another with --topic, or create it with --partitions N")
    if there is None and partitions is not None:
        client.log.create_topics([topic_files()["events"].spec(topic, partitions)])
        return partitions
    return int(there or 0)


def _require_format(name: str, before: Row | None, framed: Mapping[str, Any]) -> None:
    """Services read a stream as they began to: its format is for ever."""
    if (
        before is not None
        and name != DEFAULT_STREAM
        and (before.get("format") or "json") != framed.get("format", "json")
    ):
        raise InputError(f"stream {name!r} has the format {before.get('format') or 'json'}: add it under another name")


def _require_same(row: Row, before: Row | None) -> None:
    """What has been re-keyed stays where it is: neither source nor key can change."""
    if before is not None and (before.get("from"), before["key"]) != (row["from"], row["key"]):
        of = f"from {before['from']}, key {before['key']}" if before.get("from") else f"topic {before['topic']}"
        raise InputError(f"there is a stream {row['name']!r} already ({of}): take another name")
