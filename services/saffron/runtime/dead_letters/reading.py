"""Reader of `dead-letters` on request. There may be millions, and requests mostly concern the newest."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from saffron.counted import counted
from saffron.errors import InputError, UnavailableError
from saffron.records.stream import StreamRecord
from saffron.runtime.dead_letters.letters import Letter, gather
from saffron.runtime.log import Consumer, Log, Record, TopicPartition
from saffron.runtime.log.ends import each_that_is_there, each_to_end
from saffron.runtime.log.topics import Topics

LOOKED_AT = 10_000
"""Newest messages of each partition searched for a list."""
_BATCH = 5_000
_POLLS = 100


def require_letter(name: str) -> int:
    """The partition of the message that a dead letter is named by. InputError: `name` is no such name."""
    topic, partition, offset = (["", "", "", *name.rsplit("/", 2)])[-3:]
    if not (topic and partition.isdecimal() and all(part.isdecimal() for part in offset.split(".", 1))):
        raise InputError(
            f"{name!r} is no dead letter: name it by the place of its message, TOPIC/PARTITION/OFFSET (of a result "
            "TOPIC/PARTITION/OFFSET.INDEX), as `saffron dlq list` does"
        )
    return int(partition)


@dataclass(frozen=True)
class LetterFilter:
    """A filter of letters: by reason, and by the stream that refused it. None: all.

    `topics`: full names of those whose letters are the stream's where they name none.
    """

    reason: str | None = None
    stream: str | None = None
    topics: Collection[str] = ()

    def takes(self, letter: Letter) -> bool:
        """True if a letter is of the stream."""
        return self.stream is None or (letter.stream == self.stream if letter.stream else letter.topic in self.topics)

    def chooses(self, letter: Letter) -> bool:
        """True if a letter is of the stream and of the reason."""
        return self.reason in (None, letter.reason) and self.takes(letter)


@dataclass(frozen=True)
class Found:
    """The result of a search. `letters`: newest first. `reasons`: numbers by reason, over the chosen topics.

    `looked_at`: letters searched; `whole`: whether these were all.
    """

    letters: list[Letter]
    reasons: Mapping[str, int]
    looked_at: int
    whole: bool


def _in_order(letter: Letter) -> tuple[int, int]:
    """The place of a letter among others in time."""
    return letter.at, letter.offset


class DeadLetters:
    """Reader of the topic under its own consumer group (`group`), with which nothing is committed."""

    def __init__(self, log: Log, topics: Topics, group: str) -> None:
        self.log = log
        self.topics = topics
        self._group = group

    def newest(self, wanted: LetterFilter, count: int, look: int = LOOKED_AT) -> Found:
        """The newest `count` letters that pass the filter, among the newest `look` messages of each partition."""
        with self._consumer() as consumer:
            places = [TopicPartition(self.topics.dead_letters, one) for one in range(self.partitions)]
            ends = {place: consumer.watermarks(place) for place in places}
            starts = {place: max(low, high - look) for place, (low, high) in ends.items() if high > low}
            polls = _POLLS * max(1, look // LOOKED_AT)
            letters = gather(each_to_end(consumer, starts, batch=_BATCH, polls=polls)) if starts else []
            whole = all(starts[place] == ends[place][0] and consumer.at_end(place) for place in starts)
        matching = [one for one in letters if wanted.takes(one)]
        chosen = [one for one in matching if wanted.chooses(one)]
        chosen.sort(key=_in_order, reverse=True)
        return Found(chosen[:count], Counter(one.reason for one in matching), len(letters), whole)

    def all_of(self, wanted: LetterFilter) -> list[Letter]:
        """All letters there are now that pass the filter, oldest first. UnavailableError: they cannot be read."""
        with self._consumer() as consumer:
            places = [TopicPartition(self.topics.dead_letters, one) for one in range(self.partitions)]
            marks = {place: consumer.watermarks(place) for place in places}
            letters = gather(each_that_is_there(consumer, marks, batch=_BATCH), wanted.chooses)
        return sorted(letters, key=_in_order)

    def find(self, name: str, most: int = sys.maxsize) -> Letter:
        """The letter with this id, with or without the topics' prefix; of several streams' the newest.

        `most`: messages looked at, the newest of the partition that should have it, then those of others.
        InputError: it is not among these. UnavailableError: they cannot be read.
        """
        id_, places = self._places(name)
        left, whole = most, True
        with self._consumer() as consumer:
            for place in places:
                low, high = consumer.watermarks(place)
                start = max(low, high - left)
                left, whole = left - (high - start), whole and start == low
                records = each_that_is_there(consumer, {place: (start, high)}, batch=_BATCH)
                if letters := gather(record for record in records if record.key in id_):
                    return letters[-1]
        if whole:
            raise InputError(f"there is no dead letter {name!r}; `saffron dlq list` names those that there are")
        raise InputError(
            f"dead letter {name!r} is not among the newest {counted(most, 'message')}, which are looked at here: "
            "`saffron dlq show` and `saffron dlq send-again` look at all"
        )

    def stream_of(self, letter: Letter, names: Mapping[str, str]) -> str | None:
        """The stream of a letter; None: it is gone. `names`: of the streams, by topic."""
        if letter.stream:
            return letter.stream if letter.stream in names.values() else None
        if letter.result is None:
            return names.get(letter.topic)
        stream = self.topics.stream_of(letter.topic)
        return stream if stream in names.values() else None

    def of_stream(self, stream: StreamRecord | None, reason: str | None) -> LetterFilter:
        """The filter of a stream's letters, which are about its own topic or its sources, and about its blocks."""
        if stream is None:
            return LetterFilter(reason)
        own = [stream.topic] if stream.definition is None else list(stream.definition.numbers)
        return LetterFilter(reason, stream.name, [*own, self.topics.admitted_of(stream.stem)])

    def original(self, letter: Letter) -> Record | None:
        """The original message, or None if retention removed it or the letter is about a result. UnavailableError."""
        if letter.result is not None:
            return None
        place = TopicPartition(letter.topic, letter.partition)
        with self._consumer() as consumer:
            low, high = consumer.watermarks(place) if self.log.partitions(letter.topic) else (0, 0)
            if not low <= letter.offset < high:
                return None
            for record in each_to_end(consumer, {place: letter.offset}, batch=1, polls=_POLLS):
                # A topic that was made anew has another message there.
                same = record.offset == letter.offset and (bool(letter.stream) or record.timestamp == letter.timestamp)
                return record if same else None
        raise UnavailableError(f"the message {letter.id} cannot be read: does the broker answer?")

    @property
    def partitions(self) -> int:
        """Number of partitions of `dead-letters`."""
        return self.log.partitions(self.topics.dead_letters) or 0

    def _places(self, name: str) -> tuple[tuple[bytes, bytes], list[TopicPartition]]:
        """The possible keys of a dead letter, and the partitions that may have it, the likely one first.

        It is in another one if partitions were added since. InputError: `name` is no name of a dead letter.
        """
        count = self.partitions
        likely = require_letter(name) % max(1, count)
        order = sorted(range(count), key=lambda number: number != likely)
        where = [TopicPartition(self.topics.dead_letters, number) for number in order]
        return (name.encode(), (self.topics.prefix + name).encode()), where

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        # Of results they stand in transactions: what was aborted never happened.
        consumer = self.log.consumer(self._group, committed_only=True, client_id="dead-letters")
        try:
            yield consumer
        finally:
            consumer.close()
