"""The command that adds a stream like another one: a refusal of a change ends with it."""

from __future__ import annotations

import shlex

from saffron.durations import as_option
from saffron.records.stream import JSON, StreamRecord

_DURATIONS = ("disorder", "idle", "silence")


def add_command(record: StreamRecord, prefix: str, name: str, **changed: str | int | None) -> str:
    """`saffron stream add` of a stream `name` that has the properties of `record`, but for those that are `changed`.

    `prefix`: of Saffron's own topics. `changed`: by the names of the options; None: without this option.
    """
    own = record.source is None
    options: dict[str, str | int | None] = {
        "from": record.source,
        "topic": record.topic if own and record.topic != prefix + name else None,
        "key": record.key,
        "format": record.format if own and record.format != JSON else None,
        "registry": record.registry if own else None,
        **{one: as_option(value) for one in _DURATIONS if (value := getattr(record, one))},
        "schema": None if record.schema is None else "FILE",
        "partitions": 1 if not own and record.key is None else None,
        **changed,
    }
    given = [f"--{option} {shlex.quote(str(value))}" for option, value in options.items() if value is not None]
    return " ".join(["saffron stream add", name, *given])
