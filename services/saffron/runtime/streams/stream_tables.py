"""The tables of a merged stream as a service holds them: whole, and kept up with their topics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from saffron.errors import InputError, LogError
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.table_definition import TableDefinition, columns_of
from saffron.mapping.tables.table import Table
from saffron.mapping.tables.table_files import load
from saffron.records.stream import AppliedDefinition
from saffron.runtime.log import Log, Record
from saffron.runtime.log.follower import Follower
from saffron.runtime.log.topic_watch import TopicWatch

_LOG = logging.getLogger(__name__)
_RETRY_MS = 1_000


def new_table(definition: TableDefinition, stream: StreamDefinition) -> Table:
    """A table without rows, with the columns that its stream's attributes are made of."""
    return Table(definition, columns_of(definition.name, stream.add))


def empty_tables(stream: StreamDefinition) -> Mapping[str, Table]:
    """The tables of a stream without rows: for questions that no row answers."""
    return {one.name: new_table(one, stream) for one in stream.tables}


def apply_record(table: Table, record: Record) -> None:
    """Takes a message of a table's topic."""
    table.apply(record.key, record.value, f"{record.topic}/{record.partition}/{record.offset}")


class StreamTables:
    """The tables of the definition in force. `current`: returns it as applied, and read; None: the stream has none.

    `group`: under which topics are read; a table's topic has a name of the user's, which is no group of ours.
    A topic is followed from its beginning, and always; a file is read once for each version of the definition.
    """

    def __init__(
        self, log: Log, group: str, current: Callable[[], tuple[AppliedDefinition, StreamDefinition] | None]
    ) -> None:
        self._log = log
        self._group = group
        self._current = current
        self._applied: AppliedDefinition | None = None
        self._feeds: dict[str, _Feed] = {}

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables by name, so far as they are loaded."""
        return {name: feed.table for name, feed in self._feeds.items()}

    @property
    def is_loading(self) -> bool:
        """True if a table of the definition in force is not whole yet."""
        now = self._current()
        if now is None or not now[1].tables:
            return False
        return now[0] != self._applied or not all(feed.is_whole for feed in self._feeds.values())

    @property
    def troubles(self) -> list[str]:
        """Obstacles that only the user can remove."""
        return [feed.trouble for feed in self._feeds.values() if feed.trouble]

    def step(self, now_ms: int) -> bool:
        """Takes what is new; True if there was anything. Never waits for a message."""
        now = self._current()
        if now is not None and now[0] != self._applied:
            self._use(*now)
        moved = False
        for feed in self._feeds.values():
            moved |= feed.step(now_ms)
        return moved

    def close(self) -> None:
        for feed in self._feeds.values():
            feed.close()
        self._feeds, self._applied = {}, None

    # ------------------------------------------------------------ inside

    def _use(self, applied: AppliedDefinition, stream: StreamDefinition) -> None:
        """Holds the tables of this definition from now on; those of topics that are the same stay as they are."""
        feeds: dict[str, _Feed] = {}
        for one in stream.tables:
            table, known = new_table(one, stream), self._feeds.get(one.name)
            if known is not None and one.file is None and known.is_of(table):
                feeds[one.name] = self._feeds.pop(one.name)
            else:
                feeds[one.name] = _Feed(self._log, self._group, table)
        for old in self._feeds.values():
            old.close()
        self._feeds, self._applied = feeds, applied


@dataclass
class _Feed:
    """The feed of a table. `trouble`: the reason why it cannot fill the table, "" without one."""

    log: Log
    group: str
    table: Table
    trouble: str = ""

    def __post_init__(self) -> None:
        self._watch = TopicWatch(self.log, sources=True)
        self._followers: list[Follower] = []  # the second and later ones are of partitions that were added
        self._followed = 0  # partitions
        self._reading: Iterator[None] | None = None
        self._is_read = False
        self._retry_at = 0
        self._told = 0

    @property
    def is_whole(self) -> bool:
        return self._is_read or (bool(self._followers) and all(one.caught_up for one in self._followers))

    def is_of(self, other: Table) -> bool:
        """True if the feed fills the same table."""
        return (self.table.definition, self.table.columns) == (other.definition, other.columns)

    def step(self, now_ms: int) -> bool:
        """Reads on in the file or the topic; True if there was anything. A file that is read is done.

        After an error the table is emptied and loaded again a second later; `trouble` has the reason.
        """
        if self._is_read or now_ms < self._retry_at:
            return False
        try:
            topic = self.table.definition.topic
            moved = self._read() if topic is None else self._follow(topic, now_ms)
        except (InputError, LogError) as error:
            if str(error) != self.trouble:
                _LOG.error("%s", error)
            self.close()
            self.trouble, self._retry_at = str(error), now_ms + _RETRY_MS
            self.table, self._told = Table(self.table.definition, self.table.columns), 0
            return False
        if self.is_whole:
            self.trouble = ""
        self._tell()
        return moved

    def close(self) -> None:
        for follower in self._followers:
            follower.close()
        self._followers, self._followed, self._reading = [], 0, None

    def _read(self) -> bool:
        if self._reading is None:
            self._reading = load(self.table)
        self._is_read = next(self._reading, self) is self
        return True

    def _follow(self, topic: str, now_ms: int) -> bool:
        """Takes messages of the topic. LogError: it is missing, or a new one, and the table has to be loaded again."""
        name = self.table.definition.name
        changed = self._watch.step(now_ms, [topic])
        if topic in self._watch.missing:
            raise LogError(
                f"table {name}: topic {topic} is missing or hidden by an ACL: make it, or apply a definition without it"
            )
        if changed and self._followers:
            raise self._made_again(topic)
        known = self._watch.partitions(topic)
        if self._followed < known:
            self._followers.append(Follower(self.log, topic, only=range(self._followed, known), group=self.group))
            self._followed = known
        records = [record for follower in self._followers for record in follower.step()]
        if records and self._watch.arrived(now_ms, [topic]):
            raise self._made_again(topic)
        for record in records:
            apply_record(self.table, record)
        return bool(records)

    def _made_again(self, topic: str) -> LogError:
        name = self.table.definition.name
        return LogError(f"table {name}: topic {topic} was deleted and made again: the table is loaded again")

    def _tell(self) -> None:
        """Logs the first row that was none, and how many there are once there are ten times as many."""
        bad = self.table.bad
        if bad.count >= max(1, 10 * self._told):
            which, where = ("last", bad.last) if self._told else ("first", bad.first)
            self._told = bad.count
            what = "rows that could not be read, and are left out"
            _LOG.warning("table %s: %s: %d; the %s is %s", self.table.definition.name, what, bad.count, which, where)
