"""What makes another stream of the events of one: the way out where that one cannot be as it is wanted."""

from __future__ import annotations

import re
import shlex

from saffron.records.stream import StreamRecord


def same_events(record: StreamRecord, name: str, key: str | None) -> str:
    """The commands that make a stream `name` of the events of another one, under a key; None: in one partition.

    Of a stream that is itself made from another one, its source is named: none is made from such a stream.
    """
    if record.definition is not None:
        keyed = "no `key`" if key is None else f"`key: {key}`"
        shown = f"saffron stream show {record.name} --definition > {name}.yaml"
        return f"{shown}, there `stream: {name}` and {keyed}, then saffron stream apply {name}.yaml"
    how = "--partitions 1" if key is None else f"--key {shlex.quote(key)}"
    return f"saffron stream add {name} --from {record.source or record.name} {how}"


def keyed_name(record: StreamRecord, key: str) -> str:
    """A name for a stream of the events of `record` under another key. An attribute's name may have any character."""
    return f"{record.source or record.name}_by_{re.sub('[^A-Za-z0-9_-]+', '_', key)}"
