"""Results in chunks, with others between: each is given once, also by readers that end anywhere and go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.api import partition_results
from saffron.api.partition_results import PartitionResults

Body = Mapping[str, Any]


def chunks(name: str, count: int) -> list[Body]:
    """A result in `count` chunks with a node each; as one record where it has one."""
    if count == 1:
        return [{"id": name, "query": name, "nodes": [0]}]
    return [{"id": name, "query": name, "chunk": number, "chunks": count, "nodes": [number]} for number in range(count)]


@st.composite
def records(draw: st.DrawFn) -> list[Body]:
    """A partition of results, whose chunks come in their order, but between those of others."""
    left = [chunks(f"r{number}", draw(st.integers(1, 3))) for number in range(draw(st.integers(1, 5)))]
    found = []
    while left:
        one = draw(st.sampled_from(left))
        found.append(one.pop(0))
        left = [rest for rest in left if rest]
    return found


def read(partition: list[Body], start: int, most: int | None = None) -> tuple[list[Body], int]:
    """The first `most` results of a reader from `start` on, and its position."""
    reader, found = PartitionResults(start), []
    for offset in range(start, len(partition)):
        for body in reader.take(offset, partition[offset]):
            found.append(body)
            if len(found) == most:
                return found, reader.position
    return found, reader.position


@given(records())
def test_each_result_is_given_once_wherever_readers_end(partition: list[Body]) -> None:
    names = list(dict.fromkeys(one["id"] for one in partition))
    whole, end = read(partition, 0)
    assert [one["id"] for one in whole] == names, "in the order of their first records"
    assert [one["nodes"] for one in whole] == [list(range(one.get("chunks", 1))) for one in whole]
    assert end == len(partition)
    for first in range(1, len(names)):
        before, position = read(partition, 0, first)
        after, _ = read(partition, position)
        assert [one["id"] for one in before + after] == names


@given(records(), st.data())
def test_positions_lie_within_no_result(partition: list[Body], data: st.DataObject) -> None:
    reader = PartitionResults(0)
    for offset, body in enumerate(partition):
        list(reader.take(offset, body if data.draw(st.booleans()) else None))
        assert reader.position <= offset + 1


@pytest.mark.parametrize("start", [1, 2])
def test_a_result_that_began_before_the_start_is_left_out(start: int) -> None:
    partition = [*chunks("old", 3), *chunks("new", 2)]
    found, position = read(partition, start)
    assert [one["id"] for one in found] == ["new"]
    assert position == len(partition)


def test_a_result_without_its_last_chunk_waits() -> None:
    found, position = read([*chunks("whole", 1), *chunks("begun", 3)[:2], *chunks("next", 1)], 0)
    assert ([one["id"] for one in found], position) == (["whole"], 1)


def test_what_lies_behind_one_that_lacks_chunks_is_given_at_the_end_and_comes_again() -> None:
    reader = PartitionResults(0)
    partition = [*chunks("begun", 3)[:2], *chunks("next", 1), *chunks("large", 2)]
    assert not [one for offset, body in enumerate(partition) for one in reader.take(offset, body)]
    with pytest.warns(
        UserWarning, match="result begun of query begun has 2 of 3 chunks only; positions stay before it"
    ):
        assert [one["id"] for one in reader.rest()] == ["next", "large"]
    assert reader.position == 0


def test_one_that_lacks_chunks_is_given_up_after_many_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_results, "_PATIENCE", 3)
    partition = [*chunks("begun", 3)[:2], *(one for number in range(4) for one in chunks(f"r{number}", 1))]
    with pytest.warns(UserWarning, match="result begun of query begun has 2 of 3 chunks only$"):
        found, position = read(partition, 0)
    assert ([one["id"] for one in found], position) == (["r0", "r1", "r2", "r3"], len(partition))


def test_the_next_result_of_its_query_ends_one_that_lacks_chunks() -> None:
    lost, following = ({**one, "query": "q"} for one in (*chunks("lost", 2)[:1], *chunks("following", 1)))
    with pytest.warns(UserWarning, match="result lost of query q has 1 of 2 chunks only"):
        found, position = read([lost, *chunks("other", 1), following], 0)
    assert ([one["id"] for one in found], position) == (["other", "following"], 3)
