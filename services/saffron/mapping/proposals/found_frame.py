"""The frame of a schema registry around the messages of a topic: a zero byte, the id of a schema, the payload."""

from __future__ import annotations

from dataclasses import replace

from saffron.mapping.message import MessageError, parse
from saffron.mapping.proposals.fields import Topic, is_most
from saffron.records.stream import JSON, JSON_SCHEMA

_FRAME = 5
"""Bytes before the payload."""


def found_frame(topic: Topic) -> tuple[str | None, Topic]:
    """The format of the messages, and the topic without their frames.

    None: in a frame around bytes that only the registry's schema tells how to read, so that nothing is left to look at.
    """
    values = [one.value for one in topic.messages if one.value is not None]
    framed = [one for one in values if one[:1] == b"\0" and len(one) > _FRAME]
    if not framed or not is_most(len(framed), len(values)):
        return JSON, topic
    if not is_most(sum(_is_object(one[_FRAME:]) for one in framed), len(framed)):
        return None, replace(topic, messages=())
    inner = [replace(one, value=None if one.value is None else one.value[_FRAME:]) for one in topic.messages]
    return JSON_SCHEMA, replace(topic, messages=inner)


def _is_object(payload: bytes) -> bool:
    try:
        return isinstance(parse(payload), dict)
    except MessageError:
        return False
