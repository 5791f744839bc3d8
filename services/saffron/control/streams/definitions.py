"""Plans of merged streams: a definition is checked against the system before it is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

from saffron.control.checks import Refused
from saffron.control.streams.change import StreamChange, StreamContext, StreamPlan, require_foreign, require_new_name
from saffron.control.streams.stream_topics import inner_topics_used, with_topics
from saffron.counted import counted
from saffron.durations import as_option
from saffron.mapping.changes import changes_of
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.definition_reader import definition_of, read_definition
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log.topics import DEFAULT_STREAM
from saffron.runtime.streams.unknown_names import no_topic

_ANEW = "remove the stream (`saffron stream remove {0}`) and apply the definition again, or give it another name"


def plan_definition(text: str, now: StreamContext) -> StreamPlan:
    """The plan to add or change the merged stream of a definition.

    DefinitionError: the text is no definition. Refused: it cannot be applied.
    """
    wanted = read_definition(text)
    before = now.streams.get(wanted.name)
    if before is None:
        require_new_name(wanted.name)
    if wanted.name == DEFAULT_STREAM or (before is not None and before.definition is None):
        raise Refused(
            409, "name", f"stream {wanted.name!r} is no merged stream, and cannot become one: name it otherwise"
        )
    counts = {one.topic: _partitions(one.topic, now) for one in wanted.sources}
    count = wanted.partitions or max(counts.values())
    _require_tables(wanted, now)
    if wanted.key is None:
        count = wanted.partitions or 1
        if count > 1:
            raise Refused(400, "key", f"`partitions: {count}` needs a `key`, by which events are spread over them")
    if before is None:
        record = _new(text, wanted, counts, now)
        found = with_topics(None, record, StreamChange(wanted.name, partitions=count), now)
    else:
        _refuse_another_place(before, wanted, now)
        record = _applied(text, wanted, counts, before)
        found = with_topics(before, record, StreamChange(wanted.name), now, count)
    return replace(found, alone=sum(counts.values()) == 1)


def sentences_of(found: StreamPlan) -> list[str]:
    """Sentences on the changes that a plan makes to an existing merged stream."""
    if found.before is None or found.before.definition is None or found.record.definition is None:
        return []
    before = found.before.definition
    return list(changes_of(definition_of(before), definition_of(found.record.definition), before.numbers))


def summary_of(found: StreamPlan) -> list[str]:
    """Sentences on the actions of a merged stream's plan and their consequences. For a change, the first is a head."""
    record, applied = found.record, found.record.definition
    assert applied is not None
    if found.before is not None:
        if not found.is_change:
            head = f"stream {record.name} is so already: "
            return (
                [f"{head}nothing is changed"]
                if not found.made_again
                else [head + "its record stays", *found.made_again]
            )
        head = f"stream {record.name}: version {applied.version} of its definition is in force"
        changes = sentences_of(found) or ["only its words changed: events are read as before"]
        return [head, *changes, *found.made_again]
    topics, partitions = ", ".join(applied.numbers), counted(found.partitions, "partition")
    made = f"stream {record.name} merges {topics} into topic {record.topic}, {partitions}"
    asked = "`saffron query add FILE --from earliest` asks it, from its first event on"
    sentences = [f"{made}; {asked}: FROM {record.name}"]
    if record.idle is None and not found.alone:
        sentences.append(
            "a source partition that is silent holds the stream back, since an earlier event may come of it: with "
            "`idle: 10s` in the definition the others go on without it"
        )
    if definition_of(applied).tables:
        sentences.append("messages that are there already are looked up in the tables as they are now")
    if files := [str(one.file) for one in definition_of(applied).tables if one.file is not None]:
        sentences.append(f"each member of windowing reads {', '.join(files)} in the folder `tables` (SAFFRON_TABLES)")
    if record.silence is not None:
        after = as_option(record.silence)
        sentences.append(f"where nothing comes to any source for {after}, event time goes on with the clock")
    return sentences


def plan_bounds(change: StreamChange, before: StreamRecord, now: StreamContext) -> StreamPlan:
    """The merged stream with other bounds, by its definition's text. Refused: the change is of anything else."""
    applied = before.definition
    assert applied is not None
    others = replace(change, disorder=None, idle=None, silence=None)
    by_hand = (
        f"stream {before.name!r} has a definition: change it there and apply it again (`saffron stream show "
        f"{before.name} --definition > {before.name}.yaml`, `saffron stream apply {before.name}.yaml`)"
    )
    if others != StreamChange(change.name):
        raise Refused(409, "definition", by_hand)
    text = applied.text
    for name, value in (("disorder", change.disorder), ("idle", change.idle), ("silence", change.silence)):
        text = text if value is None else _with(text, name, value)
    known = read_definition(applied.text)
    wanted = replace(
        known,
        disorder=known.disorder if change.disorder is None else change.disorder,
        idle=known.idle if change.idle is None else change.idle or None,
        silence=known.silence if change.silence is None else change.silence or None,
    )
    if read_definition(text) != wanted:
        raise Refused(409, "definition", by_hand)
    return plan_definition(text, now)


# ------------------------------------------------------------ inside


def _partitions(topic: str, now: StreamContext) -> int:
    """The number of partitions of a source. Refused: it cannot be one."""
    require_foreign(topic, now)
    for other in now.streams.values():
        if other.topic == topic and other.is_routed:
            raise Refused(
                409,
                "topic",
                f"topic {topic!r} is stream {other.name!r}'s, which Saffron writes: ask FROM {other.name}, or name the "
                "topics that it is made from",
            )
    count = now.partitions(topic)
    if count is None:
        raise Refused(409, "topic", no_topic(topic, now.topics()))
    return count


def _require_tables(wanted: StreamDefinition, now: StreamContext) -> None:
    """Refused: a table's topic cannot be read, or its file is not in the folder of tables."""
    require_in_folder(wanted)
    for table in wanted.tables:
        if table.topic is not None:
            _partitions(table.topic, now)


def require_in_folder(wanted: StreamDefinition) -> None:
    """Refused: a table's file lies outside the folder of tables: services read no other files for a definition."""
    for table in wanted.tables:
        path = PurePath(table.file or "")
        if path.is_absolute() or ".." in path.parts:
            raise Refused(
                400,
                "tables",
                f"table {table.name}: {path} is no path within the folder of tables: put the file into the folder that "
                "windowing's setting `tables` names (SAFFRON_TABLES), and write its path from there",
            )


def _new(text: str, wanted: StreamDefinition, counts: Mapping[str, int], now: StreamContext) -> StreamRecord:
    """The record of a new merged stream. `counts`: partitions of its sources, by topic."""
    numbers = {one.topic: one.number for one in wanted.sources}
    record = StreamRecord(
        name=wanted.name,
        topic=now.prefix + wanted.name,
        key=wanted.key,
        disorder=wanted.disorder,
        idle=wanted.idle,
        silence=wanted.silence,
        definition=AppliedDefinition(text, numbers, 1, counts),
    )
    while now.used(record.topic) or inner_topics_used(record, now) or _is_other(record, now):
        record = record.of_next_generation()
        record = replace(record, topic=now.prefix + record.stem)
    return record


def _is_other(record: StreamRecord, now: StreamContext) -> bool:
    """True if the topic is a source of the stream itself, or another stream's."""
    own = record.definition is not None and record.topic in record.definition.numbers
    return own or any(one.topic == record.topic for one in now.streams.values())


def _applied(text: str, wanted: StreamDefinition, counts: Mapping[str, int], before: StreamRecord) -> StreamRecord:
    """The record with the definition, sources of known topics under their numbers, with the partitions of then."""
    applied = before.definition
    assert applied is not None
    if text == applied.text:
        return before
    numbers = _numbers(applied.numbers, wanted)
    return replace(
        before,
        disorder=wanted.disorder,
        idle=wanted.idle,
        silence=wanted.silence,
        definition=replace(
            applied,
            text=text,
            numbers=numbers,
            version=applied.version + 1,
            partitions={
                **{name: count for name, count in counts.items() if name not in applied.numbers},
                **applied.partitions,
            },
        ),
    )


def _numbers(known: Mapping[str, int], wanted: StreamDefinition) -> dict[str, int]:
    """The numbers of all sources, those of the past among them. A new one gets the next number."""
    numbers = dict(known)
    for one in wanted.sources:
        numbers.setdefault(one.topic, max(numbers.values()) + 1)
    return numbers


def _refuse_another_place(before: StreamRecord, wanted: StreamDefinition, now: StreamContext) -> None:
    """Refused: another key or number of partitions, by which the events that are there lie."""
    anew = _ANEW.format(before.name)
    if wanted.key != before.key:
        have = "none" if before.key is None else repr(before.key)
        raise Refused(409, "key", f"stream {before.name!r} has the key {have}, by which its events lie: {anew}")
    count = now.partitions(before.topic)
    if wanted.partitions is not None and count is not None and wanted.partitions != count:
        raise Refused(
            409,
            "partitions",
            f"stream {before.name!r} has {counted(count, 'partition')}, not {wanted.partitions}: {anew}",
        )


def _with(text: str, name: str, value: int) -> str:
    """The text of a definition with a bound (ms) of the stream's own. Comments and the other lines stay."""
    line = f"{name}: {as_option(value)}"
    found, count = re.subn(rf"(?m)^{name}:.*?(?=\s*(?:#.*)?$)", line, text)
    return found if count else re.sub(r"(?m)^(stream:[^\n]*)$", rf"\1\n{line}", text, count=1)
