"""Observations of features in the books: the same as adding each message by itself; published when they have moved."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.features.feature_counts import WEIGHT, FeatureCounts
from saffron.engine.models.features.features import FeatureSpec
from saffron.engine.models.reader import AnyModel, ModelReader, records
from saffron.model_builder.batch import Batches
from saffron.model_builder.books import Books
from saffron.model_builder.feature_book import STALE_BATCHES, FeatureBooks
from saffron.model_builder.feature_rows import (
    BEGUN,
    MATCH,
    MESSAGE,
    MET,
    OCCURRENCE,
    POSITION,
    REFUSING,
    SPECIFICATION,
    VECTOR,
    FeatureRow,
)
from saffron.model_builder.policy import Policy
from saffron.model_builder.store import Store

SPEC = FeatureSpec(known=(("A",), ("B",)))
OTHER = replace(SPEC, seed=1)
BASE = FeatureRow("f", 0, MESSAGE, "q", 1, SPEC.identity, 0, "", 0, 0, 1, 0, "", 1)
TOP = 2**64 - 1
NEVER = 99
"""A key without events: its schema allows it."""


def row(kind: str, **changes: Any) -> FeatureRow:
    return replace(BASE, kind=kind, **changes)


def rows_of(messages: Sequence[tuple[int, dict[str, Any]]], spec: FeatureSpec = SPEC) -> list[FeatureRow]:
    """Rows of (half, message), not summed: sums of one are sums."""
    found = [row(SPECIFICATION, text=orjson.dumps(spec.body()).decode())]
    for offset, (half, message) in enumerate(messages):
        own = replace(BASE, half=half, next_offset=offset + 1)
        found.append(own)
        for key, count in message["occurrences"].items():
            found.append(replace(own, kind=OCCURRENCE, key=str(key), count=count))
        for kind in (BEGUN, REFUSING):
            found += [replace(own, kind=kind, key=str(key), count=n) for key, n in message[kind].items()]
        found.append(replace(own, kind=MET, count=message["met"]))
        for keys in message["matches"]:
            parts = round(message["weight"] * WEIGHT)
            found.append(replace(own, kind=MATCH, key=",".join(map(str, sorted(keys))), count=parts))
        for key, vector in message["features"].items():
            found.append(replace(own, kind=VECTOR, key=str(key), text=",".join(map(str, vector))))
        for a, b, count, occurred in message["positions"]:
            found.append(replace(own, kind=POSITION, a=a, b=b, count=count, occurred=occurred))
    return [replace(one, spec=spec.identity) for one in found]


def message(rng: random.Random, keys: Sequence[int]) -> dict[str, Any]:
    return {
        "occurrences": {**{key: rng.randrange(1, 50) for key in keys}, NEVER: 0},
        "begun": {key: rng.randrange(5) for key in keys[:2]},
        "refusing": {key: rng.randrange(5) for key in keys[1:]},
        "met": rng.randrange(1000),
        "matches": [[rng.choice(keys) for _ in range(3)] for _ in range(rng.randrange(9))],
        "weight": rng.choice([1.0, 2.5]),
        "features": {key: vector(key) for key in (*keys, NEVER)},
        "positions": [[rng.randrange(3), rng.randrange(10), rng.randrange(9), rng.randrange(1, 9)] for _ in range(4)],
    }


def vector(key: int) -> list[int]:
    return [2 if key == NEVER else key % 2, *(0 for _ in SPEC.fields[1:])]


def test_the_books_hold_what_counting_each_message_gives() -> None:
    rng = random.Random(5)
    for _ in range(20):
        messages = [(rng.randrange(2), message(rng, rng.sample([*range(1, 9), TOP], 4))) for _ in range(12)]
        wanted = FeatureCounts("q", 1, SPEC.identity)
        for half, one in messages:
            wanted.add({"query": "q", "query_version": 1, **one}, half)
        books, cut = Books(), rng.randrange(13)
        for batch, part in enumerate((messages[:cut], messages[cut:])):
            shuffled = rows_of(part)
            rng.shuffle(shuffled)
            books.add(batch, [], shuffled)
            books = Books.of(orjson.loads(orjson.dumps(books.body())))
        counts = books.features.held["q"].counts
        assert (counts.halves, counts.vectors) == (wanted.halves, wanted.vectors)
        assert books.offsets == {"f": {"0": max(cut, 12 - cut)}}


def test_no_query_is_forgotten_for_another_while_events_of_it_come() -> None:
    rng = random.Random(3)
    first = rows_of([(0, message(rng, [1, 2]))])
    second = [replace(one, query="a") for one in rows_of([(0, message(rng, [3, 4]))])]
    books = FeatureBooks()
    for batch in range(3):
        books.add(batch, [*first, *second] if batch else first, most=1)
    assert list(books.held) == ["q"]
    books.add(2 + STALE_BATCHES, second, most=1)
    assert list(books.held) == ["a"]


def test_what_was_counted_under_other_features_or_for_an_older_query_is_left_out() -> None:
    rng = random.Random(2)
    own, other = rows_of([(0, message(rng, [1, 2]))]), rows_of([(0, message(rng, [3, 4]))], OTHER)
    books = Books()
    books.add(0, [], own)
    books.add(1, [], other)
    assert (books.features.held["q"].spec, books.refused) == (SPEC, len(other) - 1)
    books.add(STALE_BATCHES, [], other)
    assert books.features.held["q"].spec == OTHER, "nobody counts under the first any more"
    newer = [replace(one, query_version=2) for one in own]
    books.add(STALE_BATCHES + 1, [], newer)
    assert books.features.held["q"].counts.query_version == 2
    before = books.refused
    books.add(STALE_BATCHES + 2, [], own)
    assert books.refused - before == len(own) - 1


def test_a_partition_without_matches_does_not_hold_the_book_for_ever(tmp_path: Path) -> None:
    published: list[AnyModel] = []
    job = job_in(tmp_path, published)
    idle = message(random.Random(4), [1, 2, 3, 4]) | {"matches": []}
    busy = idle | {"matches": [[1, 2], [3, 4]], "weight": 1.0}
    for batch in range(STALE_BATCHES):
        few = idle if batch % 10 else busy
        job.run(batch, [], rows_of([(0, few), (1, idle)]) + rows_of([(0, busy), (1, busy)], OTHER))
    specs = {one.spec for one in published if isinstance(one, EventModel)}
    assert specs == {OTHER}, "the partition that was observed first has a match in ten batches"


def test_the_specification_that_is_observed_first_holds_against_one_with_as_many_matches() -> None:
    one = message(random.Random(4), [1, 2]) | {"matches": [[1, 2]] * 5, "weight": 1.0}
    books = Books()
    for batch in range(2 * STALE_BATCHES):
        books.add(batch, [], rows_of([(0, one)]) + rows_of([(0, one)], OTHER))
        assert books.features.held["q"].spec == SPEC


def test_a_specification_that_is_none_or_lies_is_refused() -> None:
    books = Books()
    for text in ("{}", "{not json", orjson.dumps(OTHER.body()).decode()):
        books.add(0, [], [row(SPECIFICATION, text=text), row(OCCURRENCE, key="1")])
        assert not books.features.held
    books.add(1, [], [row(OCCURRENCE, key="1")])
    assert not books.features.held


def test_a_model_comes_out_once_enough_is_known_and_again_when_it_has_moved(tmp_path: Path) -> None:
    rng = random.Random(3)
    published: list[AnyModel] = []
    job = job_in(tmp_path, published)

    def batch(number: int, keys: Sequence[int]) -> list[AnyModel]:
        messages = [(half, message(rng, keys)) for half in (0, 1, 0, 1)]
        return list(job.run(number, [], rows_of(messages)).models)

    assert batch(0, [1, 2]) == []
    for number in range(1, 20):
        if not published:
            batch(number, [1, 2, 3, 4])
    (model,) = published
    assert isinstance(model, EventModel)
    number = model.version[1]
    assert model.trained_through["f"] == {"0": 4}
    reader = ModelReader()
    (read,) = [found for key, value in records(model) if (found := reader.take(key, value)) is not None]
    assert isinstance(read, EventModel)
    assert read.spec == SPEC
    again = batch(number, [1, 2, 3, 4])  # the same batch, other rows: from the books before it
    assert [one.version for one in again] == [(7, number)]
    assert batch(number + 1, [5, 6, 7, 8]), "other events come"


def test_other_events_that_matches_need_are_learned_though_the_same_events_come(tmp_path: Path) -> None:
    rng = random.Random(3)
    published: list[AnyModel] = []
    job = job_in(tmp_path, published)

    def batch(number: int, needed: Sequence[int]) -> None:
        one = {**message(rng, [1, 2, 3, 4]), "occurrences": dict.fromkeys((1, 2, 3, 4), 50)}
        of_two = [{**one, "matches": [[rng.choice(needed) for _ in range(3)] for _ in range(9)]} for _ in range(2)]
        job.run(number, [], rows_of(list(enumerate(of_two))))

    for number in range(20):
        batch(number, [1, 2])
    assert len(published) <= 6, "twice as many events each time"
    count = len(published)
    for number in range(20, 28):
        batch(number, [3, 4])
    assert len(published) > count
    newest = published[-1]
    assert isinstance(newest, EventModel)
    assert newest.keys.of(np.array([3], dtype=np.uint64))[0] > 0


def job_in(folder: Path, published: list[AnyModel]) -> Batches:
    store = Store(folder)
    store.open(7, -1)
    return Batches(store, 7, published.extend, Policy(events=400, matches=8))
