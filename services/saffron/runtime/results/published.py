"""Topics of PUBLISH: which names are refused, how they come to be, and how many partitions they have.

A topic that is not there is created before its query begins, with the settings of the topic of all results. One that
is there is taken as it is. Several queries may share one. It stays when its query is replaced or removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from saffron.engine.events.block import Block
from saffron.errors import DeniedError, GapError, LogError, UnavailableError
from saffron.language.plan.row import Row
from saffron.language.syntax.delivery import topics_of
from saffron.records.stream import StreamRecord
from saffron.runtime.log import Log, TopicSpec
from saffron.runtime.result_formats.rows import RowFormats


def refusal(topic: str, prefix: str, streams: Iterable[StreamRecord]) -> str:
    """The reason why results may not go to a topic; "" if they may.

    `prefix`: of Saffron's own topics. `streams`: all there are.
    """
    if topic.startswith(prefix):
        return f"topic {topic!r} is Saffron's own, as all that begin with {prefix!r}: PUBLISH to another name"
    for record in streams:
        read = () if record.definition is None else record.definition.numbers
        if topic == record.topic or topic in read:
            why = f"topic {topic!r} holds the events of stream {record.name!r}"
            return f"{why}: results there would be events again. PUBLISH to another name"
    return ""


class PublishedTopics:
    """The topics of PUBLISH as one service writes them. `spec`: the settings to create one with, under its name.

    `rows`: encoders of rows (AS).
    """

    def __init__(self, log: Log, spec: TopicSpec, rows: RowFormats) -> None:
        self.rows = rows
        self._log = log
        self._spec = spec
        self._partitions: dict[str, int] = {}

    def prepare(self, topic: str, row: Row | None = None) -> str:
        """Makes a topic ready to be written; the reason why it cannot be, "" if it is ready.

        UnavailableError: no broker answers.
        """
        if row is not None and (why := self.rows.refusal(row)):
            return why
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
        """How many partitions a topic has. It is created where it is not there."""
        count = self._partitions.get(topic)
        if count is None:
            count = self._log.partitions(topic)
            if count is None:
                self._log.create_topics([TopicSpec(topic, self._spec.partitions, self._spec.config)])
                count = self._log.partitions(topic) or self._spec.partitions
            self._partitions[topic] = count
        return count

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
