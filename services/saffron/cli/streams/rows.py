"""The fields of streams in words, for `saffron stream list` and for changes."""

from __future__ import annotations

from typing import Any

from saffron.control.streams.change import StreamContext, StreamPlan
from saffron.durations import as_option
from saffron.records.stream import StreamRecord


def differences(found: StreamPlan) -> list[str]:
    """The changed fields of a stream that existed."""
    if found.before is None:
        return []
    before, after = found.before.body(), found.record.body()
    names = [name for name in {**before, **after} if after.get(name) != before.get(name)]
    return [f"{name}: {_change(cell(name, before.get(name)), cell(name, after.get(name)))}" for name in names]


def _change(before: object, after: object) -> str:
    """A change in words; cells do not tell one schema from another."""
    return "another one" if before == after else f"{before} -> {after}"


def shown_row(record: StreamRecord, now: StreamContext) -> dict[str, Any]:
    """A stream's row in the list. The default stream has the values of the settings where its record has none."""
    row = record.body()
    if record.name == next(iter(now.streams)):
        row["disorder"] = now.disorder if record.disorder is None else record.disorder
        row["idle"] = now.idle if record.idle is None else record.idle
    return row


def cell(name: str, value: object) -> object:
    """A value as a cell of the list."""
    if name == "schema":
        return "inferred" if value is None else "given"
    if name == "definition" and isinstance(value, dict):
        return f"version {value['version']}"
    if name == "format":
        return value or "json"
    if name in ("disorder", "idle", "silence"):
        return "-" if value is None else as_option(int(str(value)))
    return "-" if value is None else value
