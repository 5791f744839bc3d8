"""Topics of PUBLISH: which are refused, how they come to be, and how many partitions they have.

A topic that is not there is created before its query begins, with the settings of the topic of all results. One that
is there is taken as it is. Several queries may share one. It stays when its query is replaced or removed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from saffron.engine.events.block import Block
from saffron.errors import DeniedError, GapError, LogError, UnavailableError, UnwritableError
from saffron.language.plan.plan import Plan
from saffron.language.plan.row import Row
from saffron.language.syntax.delivery import has_rows, published, topic_of, topics_of
from saffron.records.stream import StreamRecord
from saffron.runtime.log import Log, TopicSpec
from saffron.runtime.log.topics import DEFAULT_STREAM
from saffron.runtime.result_formats.rows import RowFormats


def refusal(topic: str, prefix: str) -> str:
    """The reason why no results may go to a topic; "" if they may. `prefix`: of Saffron's own topics."""
    if topic.startswith(prefix):
        return f"topic {topic!r} is Saffron's own, as all that begin with {prefix!r}: PUBLISH to another name"
    return ""


def readers(topic: str, streams: Mapping[str, StreamRecord]) -> list[str]:
    """The streams whose events are the messages of a topic, all merged streams among them that ever read it."""
    return [name for name, record in streams.items() if topic in _read_by(record, streams)]


def cycle(start: str, streams: Mapping[str, StreamRecord], queries: Mapping[str, str]) -> str:
    """A sentence on the cycle by which results over a stream become its events again, by PUBLISH; "" if there is none.

    `streams`, `queries` (their texts): by name.
    """
    found = ((name, published(text)) for name, text in queries.items())
    publishing = [(name, one[0] or DEFAULT_STREAM, one[1]) for name, one in found if one is not None]
    reached, waiting = {start: ""}, [start]
    for stream in waiting:  # it grows
        for query, over, topic in publishing:
            for reader in readers(topic, streams) if over == stream else ():
                step = f"query {query!r} over stream {stream!r} publishes to {topic!r}, which stream {reader!r} reads"
                way = f"{reached[stream]}, {step}" if reached[stream] else step
                if reader == start:
                    return way
                if reader not in reached:
                    reached[reader] = way
                    waiting.append(reader)
    return ""


def unlike(plan: Plan, queries: Mapping[str, str]) -> str | None:
    """The reason why a query may not publish to a topic to which another one (`queries`: texts) does; None if it may.

    Rows have the fields of one query, so only results as they are share a topic.
    """
    topic = plan.delivery.topic
    for other, text in queries.items():
        shared = other != plan.name and topic is not None and topic_of(text) == topic
        if shared and (plan.delivery.row is not None or has_rows(text)):
            return (
                f"query {other!r} publishes to topic {topic!r}, and rows (AS) have the fields of one query: PUBLISH to "
                "another topic, or leave AS out of both"
            )
    return None


def _read_by(record: StreamRecord, streams: Mapping[str, StreamRecord]) -> Collection[str]:
    """The topics whose messages become events of a stream."""
    if record.definition is not None:
        return record.definition.numbers
    source = streams.get(record.source or "")
    return (record.topic if source is None else source.topic,)


class PublishedTopics:
    """The topics of PUBLISH as one service writes them. `spec`: the settings to create one with, under its name.

    `rows`: encoders of rows (AS).
    """

    def __init__(self, log: Log, spec: TopicSpec, rows: RowFormats) -> None:
        self.rows = rows
        self._log = log
        self._spec = spec
        self._partitions: dict[str, int] = {}
        self._written: set[str] = set()
        self._refused: dict[str, str] = {}

    def prepare(self, topic: str, row: Row | None = None) -> str:
        """Makes a topic ready to be written; the reason why it cannot be, "" if it is ready.

        UnavailableError: no broker answers.
        """
        if row is not None and (why := self.rows.refusal(row)):
            return why
        self._refused.pop(topic, None)
        try:
            self.partitions(topic)
            if not self._log.writable(topic):
                return f"there is no right to write to topic {topic!r}: give Saffron's user WRITE and DESCRIBE on it"
        except UnavailableError:
            raise
        except DeniedError as error:
            return (
                f"topic {topic!r} is not there or cannot be seen, and there is no right to create it ({error}): create "
                "it, and give Saffron's user WRITE and DESCRIBE on it"
            )
        except LogError as error:
            return f"topic {topic!r} cannot be made ready: {error}"
        return ""

    def partitions(self, topic: str) -> int:
        """The number of a topic's partitions. A missing topic is created."""
        self._written.add(topic)
        count = self._partitions.get(topic)
        if count is None:
            count = self._log.partitions(topic)
            if count is None:
                self._log.create_topics([TopicSpec(topic, self._spec.partitions, self._spec.config)])
                count = self._log.partitions(topic) or self._spec.partitions
            self._partitions[topic] = count
        return count

    def blame(self, error: LogError) -> set[str]:
        """The topics of PUBLISH that may be why the broker has refused a transaction. `refused` has the error then."""
        if isinstance(error, UnwritableError):
            found = self._written & {error.topic}
        else:
            found = {topic for topic in self._written if not self._log.writable(topic)}
        self._refused |= dict.fromkeys(found, str(error))
        return found

    def refused(self, topic: str) -> str:
        """The reason why the broker refuses a topic, "" if it does not. A query that begins there has it tried."""
        why = self._refused.get(topic)
        return "" if why is None else f"the broker refuses its results in topic {topic!r}: {why}"

    def forget(self) -> None:
        """Look again: a topic may have been removed, or have got more partitions."""
        self._partitions.clear()


def topics_in(blocks: Iterable[Block]) -> set[str]:
    """The topics of PUBLISH of all queries that were in force in these blocks, up to a gap: no chain gets past one."""
    texts: set[str] = set()
    with suppress(GapError):
        for block in blocks:
            texts.update(_texts(block))
    return topics_of(texts)


def _texts(block: Block) -> Iterator[str]:
    """The texts of the queries in the control records of a block."""
    for control in block.controls:
        bodies: Iterable[Mapping[str, Any]] = ()
        if control.kind == "query":
            bodies = (control.body,)
        elif control.kind == "checkpoint":
            bodies = control.body.get("queries", ())
        yield from (str(body["text"]) for body in bodies if body.get("text"))
