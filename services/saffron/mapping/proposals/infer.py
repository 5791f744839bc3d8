"""A proposed definition of a stream from the newest messages of its topics, with a reason for each part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from saffron.mapping.definition import CSV, SourceDefinition, TypeRule
from saffron.mapping.message import Number
from saffron.mapping.paths import Path
from saffron.mapping.proposals.fields import Fields, Topic, fields_of, is_most
from saffron.mapping.proposals.found_form import found_form
from saffron.mapping.proposals.found_frame import found_frame
from saffron.mapping.proposals.found_key import found_keys
from saffron.mapping.proposals.found_time import found_time
from saffron.mapping.proposals.found_type import found_type
from saffron.mapping.proposals.proposal import ProposedExplode, ProposedSource, ProposedTime
from saffron.records.stream import JSON

_VERSION_NAME = re.compile(r"version", re.IGNORECASE)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)


@dataclass(frozen=True)
class _Look:
    """A topic as read by the proposal so far."""

    topic: str
    source: SourceDefinition
    explode: ProposedExplode | None
    fields: Fields
    time: ProposedTime


def infer(topics: Sequence[Topic]) -> list[ProposedSource]:
    """A source for each topic, with the key by whose values the topics agree."""
    framed = [found_frame(topic) for topic in topics]
    looks = [_look(topic) for _, topic in framed]
    keys = found_keys([one.topic for one in looks], [one.fields for one in looks])
    return [
        ProposedSource(
            one.topic,
            one.fields.messages,
            one.source.envelope,
            one.source.csv,
            one.explode,
            one.time,
            key,
            _numbers(one.fields, one.time),
            found_type(one.topic, one.fields, one.source.envelope, form),
            form,
            topic.registry,
            topic.told,
        )
        for one, key, (form, topic) in zip(looks, keys, framed, strict=True)
    ]


def _look(topic: Topic) -> _Look:
    """The findings in one topic: its form, its time, and an array whose objects may be events.

    Fields and time are those of the objects if nothing else in the message has a time.
    """
    envelope, csv = found_form(topic)
    form = JSON if csv is None else CSV
    source = SourceDefinition(topic.name, 0, TypeRule(constant=topic.name), envelope=envelope, format=form, csv=csv)
    whole = fields_of(topic, source)
    time = found_time(whole)
    for path in _arrays(whole):
        items = fields_of(topic, replace(source, explode=path))
        of_items = found_time(items, beside=whole.values.keys())
        if of_items.path is None:
            continue
        if time.path is None:
            why = "its objects have a time, and nothing else has one: an event of each"
            return _Look(topic.name, source, ProposedExplode(path, why, is_sure=True), items, of_items)
        why = f"an event of each of its objects, which have times of their own ({of_items.path})"
        return _Look(topic.name, source, ProposedExplode(path, why, is_sure=False), whole, time)
    return _Look(topic.name, source, None, whole, time)


def _arrays(own: Fields) -> list[Path]:
    """Paths of arrays that hold nearly nothing but objects, one at least, in nearly all events."""
    found = []
    for steps, values in own.values.items():
        lists = [value for _, value in values if isinstance(value, list)]
        items = [item for value in lists for item in value]
        objects = sum(isinstance(one, dict) for one in items)
        if own.in_most(steps) and len(lists) == len(values) and objects and is_most(objects, len(items)):
            found.append(Path(steps))
    return found


def _numbers(own: Fields, time: ProposedTime) -> list[Path]:
    """Fields whose values are texts that hold numbers, with a point or a sign in some: no ids, no versions."""
    found = []
    for steps, values in own.values.items():
        texts = [value for _, value in values]
        mixed = any(isinstance(one, Number) for one in texts)
        written = [one for one in texts if isinstance(one, str) and not isinstance(one, Number)]
        is_other = Path(steps) == time.path or _VERSION_NAME.search(steps[-1]) is not None
        if not written or is_other or not all(_NUMBER.fullmatch(one) for one in written):
            continue
        if mixed or any("." in one or "-" in one for one in written):
            found.append(Path(steps))
    return found
