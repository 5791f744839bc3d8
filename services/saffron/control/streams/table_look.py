"""The tables of a definition, as they are now, for an occasional look: read whole, if they are not too large for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from saffron.control.checks import Refused
from saffron.control.streams.definitions import require_in_folder
from saffron.errors import InputError
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.tables.table import Table
from saffron.runtime.log import Log, Record
from saffron.runtime.log.follower import content
from saffron.runtime.process.config import Settings
from saffron.runtime.streams.newest_messages import LOOK_SECONDS, MOST_BYTES
from saffron.runtime.streams.whole_tables import whole_tables

_ELSEWHERE = "`saffron stream check` and `saffron replay --stream` have no such bound"


def tables_now(
    definition: StreamDefinition, log: Log, settings: Settings, clock: Callable[[], float] = time.monotonic
) -> Mapping[str, Table]:
    """The tables by name. Refused: one cannot be read here."""
    require_in_folder(definition)
    wanted = definition.beside(settings.tables)
    until = clock() + LOOK_SECONDS
    try:
        _require_small(wanted)
        return whole_tables(
            wanted, lambda topic: _records(log, topic, settings.group("control-look"), lambda: clock() > until)
        )
    except InputError as error:
        raise Refused(409, "tables", str(error)) from error


def _require_small(definition: StreamDefinition) -> None:
    for table in definition.tables:
        with suppress(OSError):  # an unreadable file is reported when it is read
            if table.file is not None and Path(table.file).stat().st_size > MOST_BYTES:
                raise _too_much(f"table {table.name} has more than {MOST_BYTES >> 20} MiB")


def _records(log: Log, topic: str, group: str, expired: Callable[[], bool]) -> Iterator[Record]:
    size = 0
    for records in content(log, topic, group):
        yield from records
        size += sum(one.size for one in records)
        if size > MOST_BYTES:
            raise _too_much(f"topic {topic} has more than {MOST_BYTES >> 20} MiB")
        if expired():
            raise _too_much(f"topic {topic} was not read to its end within {LOOK_SECONDS:g} s")


def _too_much(what: str) -> Refused:
    return Refused(409, "tables", f"{what}, which is too much for a look here: {_ELSEWHERE}")
