"""A dry run: it says of each message what the stream will make of it, and what seems wrong with the times."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.engine.events.raw import batch_of_values
from saffron.mapping.definition import StreamDefinition
from saffron.mapping.definition_reader import read_definition
from saffron.mapping.dry_run import read_all
from saffron.mapping.message import Message
from saffron.runtime.log import TopicPartition
from saffron.runtime.streams.merging import SourceReader

NOON = 1_777_629_600_000
DAY = 86_400_000


def stream(form: str, disorder: str = "1h", more: str = "") -> StreamDefinition:
    source = f"- topic: t\n  type: {{field: kind}}\n  ts: {{field: at, format: {form}}}\n{more}"
    return read_definition(f"stream: s\ndisorder: {disorder}\nsources:\n{source}")


def messages(values: list[Any]) -> list[Message]:
    return [
        Message(orjson.dumps(one), None, NOON, {}, "t", 0, offset) if not isinstance(one, bytes) else
        Message(one, None, NOON, {}, "t", 0, offset)
        for offset, one in enumerate(values)
    ]  # fmt: skip


KINDS = st.sampled_from(["A", "", "$x", "$watermark", 5, None])
TIMES = st.one_of(
    st.sampled_from(
        [NOON, NOON + DAY, NOON + DAY + 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 0, "x", None, 1.5, "12.5"]
    ),
    st.integers(NOON - 3 * DAY, NOON + DAY),
)
EVENTS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"kind": KINDS, "at": TIMES}, optional={"n": st.sampled_from(["1", "x", {"a": 1}])}),
        st.sampled_from([b"{", b"[1]", b"7", b"{}"]),
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=80)
@given(EVENTS, st.sampled_from(["epoch_ms", "epoch_s", "epoch_us"]), st.sampled_from(["tell", "dead-letter"]))
def test_what_is_refused_is_what_the_stream_refuses(values: list[Any], form: str, mismatch: str) -> None:
    definition = stream(form, "1h", f"  attributes: {{n: {{from: n, as: number}}}}\non_mismatch: {mismatch}\n")
    known = messages(values)
    found = read_all(definition, definition.sources[0], known)
    batch = batch_of_values([one.value or b"" for one in known], times=np.full(len(known), NOON))
    inner = SourceReader(TopicPartition("t", 0), lambda: definition, 1, DAY).read(batch, known)
    expected = Counter(one.reason for one in inner.unread)
    late = expected.pop("late", 0)
    assert {reason: one.count for reason, one in found.refused.items()} == expected
    assert found.events == len(inner.events) + late
    assert (f"{late} event{'s' * (late != 1)} would be late" in found.warning) == (late > 0)


@pytest.mark.parametrize(
    ("form", "at", "fits"),
    [
        ("epoch_ms", NOON // 1000, "they fit as epoch_s"),
        ("epoch_ms", NOON * 1000, "they fit as epoch_us"),
        ("epoch_us", NOON, "they fit as epoch_ms"),
        ("epoch_s", NOON, "they fit as epoch_ms"),
        ("epoch_ms", NOON, ""),
        ("epoch_ms", NOON - 300 * 365 * DAY // 10, ""),
        ("epoch_ms", 5_000, ""),
    ],
)
@pytest.mark.parametrize("received", [None, NOON, NOON + 200 * DAY])
def test_another_unit_is_told_whatever_the_times_of_the_messages(
    form: str, at: int, fits: str, received: int | None
) -> None:
    definition = stream(form)
    known = [Message(orjson.dumps({"kind": "A", "at": at + n}), None, received, {}, "t", 0, n) for n in range(3)]
    warning = read_all(definition, definition.sources[0], known).warning
    assert (fits in warning) if fits else "fit" not in warning


def test_late_events_are_told_by_their_partition_and_the_bound() -> None:
    at = {0: [0, 60_000, 10_000, 59_000], 1: [500_000, 499_000]}
    known = [
        Message(orjson.dumps({"kind": "A", "at": NOON + ms}), None, NOON, {}, "t", partition, offset)
        for partition, times in at.items()
        for offset, ms in enumerate(times)
    ]
    known.reverse()
    for disorder, said in (
        (
            "5s",
            "1 event would be late: the furthest is 50,000 ms behind an earlier one of its partition, `disorder` is 5",
        ),
        ("0s", "3 events would be late"),
        ("50s", ""),
    ):
        definition = stream("epoch_ms", disorder)
        warning = read_all(definition, definition.sources[0], known).warning
        assert said in warning
        assert bool(said) == bool(warning)
