"""Topics as a proposal of a definition looks at them: newest messages, as JSON where a registry knows the schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from saffron.engine.events.formats.framed import schema_ids
from saffron.errors import InputError, LogError
from saffron.mapping.definition import SourceDefinition, TypeRule
from saffron.mapping.definition_reader import is_registry
from saffron.mapping.dry_run import place_of
from saffron.mapping.proposals.fields import Topic
from saffron.mapping.proposals.found_frame import found_frame
from saffron.records.stream import JSON_SCHEMA, WITH_REGISTRY
from saffron.runtime.log import TopicPartition
from saffron.runtime.streams.messages import message_of
from saffron.runtime.streams.newest_messages import Newest, in_order_of_time
from saffron.runtime.streams.source_messages import Batch, SourceMessage, messages_of, translated
from saffron.runtime.streams.stream_formats import Formats

AVRO, PROTOBUF = WITH_REGISTRY
_FORMS = {"AVRO": AVRO, "PROTOBUF": PROTOBUF}


def require_registry(url: str) -> None:
    """InputError: it is no URL that a definition may have."""
    if not is_registry(url):
        raise InputError(
            f"{url!r} is no registry: it is http://HOST:PORT or https://HOST:PORT, and a name and password go into "
            "SAFFRON_REGISTRY_AUTH"
        )


def topic_of(newest: Newest, name: str, registry: str | None, formats: Formats) -> Topic:
    """A topic with its messages, translated from Avro and Protobuf if the `registry` (URL) is given.

    Messages that cannot be translated are reported, and do not hold up other topics.
    """
    topic = Topic(name, [message_of(record, record.value) for record in in_order_of_time(newest, name)])
    if registry is None or found_frame(topic)[0] is not None:
        return topic
    # Each message is read by the kind of its own schema: the format only has to be one with a registry.
    source = SourceDefinition(name, 0, TypeRule(constant=name), format=AVRO, registry=registry)
    try:
        batches = translated({place: one for place, one in newest.items() if place.topic == name}, [source], formats)
    except LogError as error:
        return replace(topic, registry=registry, told=(str(error),))
    found = messages_of(batches, name)
    told = tuple(_told(found))
    form = _form(batches, formats.kinds(registry))
    if form is None:
        return replace(topic, registry=registry, told=told)
    return Topic(name, [one.message for one in found if one.refusal is None], form, registry, told)


def _form(batches: Mapping[TopicPartition, Batch], kinds: Mapping[int, str]) -> str | None:
    """The format of most messages that were read out of a frame, one with a registry before JSON; None: of none."""
    read = Counter(
        _FORMS.get(kinds[schema], JSON_SCHEMA)
        for _, batch in batches.values()
        for offset, schema in zip(batch.offsets.tolist(), schema_ids(batch.originals or batch).tolist(), strict=True)
        if schema in kinds and offset not in batch.refused
    )
    return max(read, key=lambda form: (form in WITH_REGISTRY, read[form]), default=None)


def _told(messages: Sequence[SourceMessage]) -> Iterator[str]:
    """A sentence for each reason why messages could not be translated, with the first such message."""
    refused: dict[str, list[SourceMessage]] = {}
    for one in messages:
        if one.refusal is not None:
            refused.setdefault(one.refusal[0], []).append(one)
    for reason, (first, *more) in refused.items():
        assert first.refusal is not None
        where = place_of(first.message, 0)
        yield f"{1 + len(more):,} not read ({reason}); the first is {where}: {first.refusal[1]}"
