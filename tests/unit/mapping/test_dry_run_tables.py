"""A dry run with tables: its events have the attributes that the stream's events will have."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.raw import batch_of_values
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import read_all, sentences
from saffron.mapping.mapper import flat
from saffron.mapping.message import Message
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.streams.merging import InnerEvent, SourceReader
from saffron.runtime.streams.whole_tables import look_up_in, whole_tables
from saffron.schema.origin import ORIGIN

NOON, DAY = 1_777_629_600_000, 86_400_000
TEXT = """
stream: s
sources: [{topic: t, ts: message}]
tables: [{name: rows, topic: rows, key: id}]
add:
  tier: {table: rows, key: k, take: tier}
  size: {table: rows, key: k, take: size, as: number}
  is: {table: rows, key: k}
"""
SCALARS = st.sampled_from([1, 1.0, 1.50, "1", "a", True, None, 12345678901234567890, "ü"])
ROWS = st.lists(st.fixed_dictionaries({"id": SCALARS}, optional={"tier": SCALARS, "size": SCALARS}), max_size=6)
EVENTS = st.lists(
    st.fixed_dictionaries({}, optional={"k": SCALARS, "n": SCALARS, "tier": SCALARS, "is": SCALARS, "type": SCALARS}),
    max_size=8,
)


@settings(deadline=None, max_examples=150)
@given(ROWS, EVENTS, st.sampled_from(["tell", "dead-letter"]))
def test_events_are_those_of_the_stream(rows: list[Any], events: list[Any], mismatch: str) -> None:
    definition = read_definition(f"{TEXT}on_mismatch: {mismatch}\n")
    records = [Record("rows", 0, n, NOON, None, orjson.dumps(row)) for n, row in enumerate(rows)]
    tables = whole_tables(definition, {"rows": records}.__getitem__)
    known = [Message(orjson.dumps(one), None, NOON, {}, "t", 0, n) for n, one in enumerate(events)]
    look_up = look_up_in(definition, tables)
    found = read_all(definition, definition.sources[0], known, look_up=look_up)
    batch = batch_of_values([one.value or b"" for one in known], times=np.full(len(known), NOON))
    reader = SourceReader(TopicPartition("t", 0), lambda: definition, 1, DAY, tables=lambda: tables)
    inner = reader.read(batch, known)
    bodies = [orjson.loads(one.value) for one in inner.events if isinstance(one, InnerEvent)]
    own = [[name for name in body if name not in (*ORIGIN, "type", "ts")] for body in bodies]
    assert found.attributes == Counter(name for names in own for name in names)
    assert found.not_found == inner.not_found or mismatch == "dead-letter", "what is refused is not looked up"
    assert {name: count for name, (count, _) in found.misfits.items()} == {
        name: count for name, count in inner.misfits.items() if count
    }
    assert {reason: one.count for reason, one in found.refused.items()} == Counter(one.reason for one in inner.unread)
    for one, body in zip(found.examples, bodies, strict=False):
        assert orjson.loads(flat(one)) == {name: value for name, value in body.items() if name not in ORIGIN}


def test_keys_without_a_row_are_told() -> None:
    definition = read_definition(TEXT)
    tables = whole_tables(definition, lambda topic: [])
    known = [Message(b'{"k": 1}', None, NOON, {}, "t", 0, 0)]
    found = read_all(definition, definition.sources[0], known, look_up=look_up_in(definition, tables))
    for name in ("tier", "size"):
        assert f"t: {name}: 1 event has a key that no row of the table has; the attribute is null there" in [
            *sentences(found)
        ]
