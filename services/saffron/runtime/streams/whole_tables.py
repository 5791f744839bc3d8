"""The tables of a stream read once to their ends, and single events looked up in them: for replays and dry runs."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from saffron.mapping.definition import StreamDefinition
from saffron.mapping.dry_run import LookUp, no_rows
from saffron.mapping.mapper import FIELDS, Mapped, Refused, flat
from saffron.mapping.message import parse
from saffron.mapping.tables.lookups import added, own_detail
from saffron.mapping.tables.table import Table
from saffron.mapping.tables.table_files import load
from saffron.runtime.log import Record
from saffron.runtime.streams.event_keys import keys_of_parsed
from saffron.runtime.streams.stream_tables import apply_record, new_table


def whole_tables(definition: StreamDefinition, messages: Callable[[str], Iterable[Record]]) -> Mapping[str, Table]:
    """The tables of a stream by name, whole. `messages`: returns a topic's. InputError: a file cannot be read."""
    tables = {one.name: new_table(one, definition) for one in definition.tables}
    of_topics: defaultdict[str, list[Table]] = defaultdict(list)
    for table in tables.values():
        if table.definition.topic is None:
            deque(load(table), maxlen=0)
        else:
            of_topics[table.definition.topic].append(table)
    for topic, some in of_topics.items():
        for record in messages(topic):
            for table in some:
                apply_record(table, record)
    return tables


def look_up_in(definition: StreamDefinition, tables: Mapping[str, Table]) -> LookUp:
    """The look-up of single events of a stream, as `merging.SourceReader` does it for batches."""

    def look_up(event: Mapped) -> tuple[Mapped | Refused, Iterable[str]]:
        found = added([flat(event)], definition.add, tables, keys_of_parsed)
        own = found.own.get(0, ())
        if own and definition.dead_letters:
            return Refused(event.number, "schema", own_detail(own)), ()
        values = {name: value for name, value in parse(found.values[0]).items() if name not in FIELDS}
        return replace(event, values=values, misfits=(*event.misfits, *own)), found.not_found

    return look_up


def table_notices(tables: Mapping[str, Table], not_found: Mapping[str, int]) -> Iterator[str]:
    """Sentences for the user about look-ups: rows that were left out, and keys that no row has."""
    for name, table in tables.items():
        if table.bad.count:
            yield f"table {name}: rows that were left out: {table.bad.count:,}; the first is {table.bad.first}"
    yield from no_rows(not_found)


def read_again(tables: Mapping[str, Table]) -> Iterator[str]:
    """A sentence for the user, where events are looked up again in tables of topics.

    Their rows may have changed since. Tables of files are the same for all events.
    """
    if names := [name for name, table in tables.items() if table.definition.topic is not None]:
        yield (
            f"{', '.join(names)}: events see the rows at the end of the topic; the running system keeps what it found "
            "when it read each event"
        )
