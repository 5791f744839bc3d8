"""The frame of a schema registry around the messages of a topic: a zero byte, the id of a schema, the payload."""

from __future__ import annotations

from dataclasses import replace

from saffron.engine.events.formats.framed import HEAD
from saffron.mapping.message import MessageError, parse
from saffron.mapping.proposals.fields import Topic, is_most
from saffron.records.stream import JSON, JSON_SCHEMA

_UNREAD = "its messages have the frame of a schema registry: infer reads them with the registry's URL (--registry URL)"


def found_frame(topic: Topic) -> tuple[str | None, Topic]:
    """The format of the messages, and the topic without their frames.

    None: in a frame around bytes that only the registry's schema tells how to read. Messages without a frame are left.
    """
    if topic.form is not None:
        return topic.form, topic
    values = [one.value for one in topic.messages if one.value is not None]
    framed = [one for one in values if _is_framed(one)]
    if is_most(len(values) - len(framed), len(values)):
        return JSON, topic
    if not is_most(sum(_is_object(one[HEAD:]) for one in framed), len(framed)):
        plain = [one for one in topic.messages if one.value is None or not _is_framed(one.value)]
        return None, replace(topic, messages=plain, told=topic.told or (_UNREAD,))
    inner = [replace(one, value=_unframed(one.value)) for one in topic.messages]
    return JSON_SCHEMA, replace(topic, messages=inner)


def _is_framed(value: bytes) -> bool:
    return value[:1] == b"\0" and len(value) > HEAD


def _unframed(value: bytes | None) -> bytes | None:
    return value[HEAD:] if value is not None and _is_framed(value) else value


def _is_object(payload: bytes) -> bool:
    try:
        return isinstance(parse(payload), dict)
    except MessageError:
        return False
