"""Chains that begin later have the models of chains from before, whatever records were refused meanwhile."""

from __future__ import annotations

import random
from functools import cache

import pytest

from saffron.engine.models.events.event_record import records_of
from saffron.engine.models.events.event_trainer import train_events
from saffron.engine.models.reader import ModelReader
from saffron.runtime.log import Record
from saffron.shedder.good_models import GoodModels
from tests.unit.engine.models.event_streams import SPEC, observed
from tests.unit.engine.shed.blocks import transition_model

Pair = tuple[bytes, bytes | None]


@cache
def parts(batch: int) -> list[Pair]:
    """A model of events in several records."""
    model = train_events(observed(10, 10, 200)[0], SPEC, (1, batch), {})
    return [*records_of(model, 6_000)]


def single(batch: int) -> Pair:
    model = transition_model("q", (1, batch))
    return model.key, model.encode()


def record(offset: int, pair: Pair) -> Record:
    return Record("models", 0, offset, 0, *pair)


def versions(good: GoodModels, *later: Pair) -> dict[bytes, tuple[int, int]]:
    """The models that a new reader has, by key, once it has read those that are good and `later` ones."""
    reader, found = ModelReader(), {}
    for key, value in [*((one.key or b"", one.value) for one in good), *later]:
        model = reader.take(key, value)
        if model is not None:
            found[model.key] = model.version
    return found


def held(*given: Pair) -> GoodModels:
    good = GoodModels()
    for offset, pair in enumerate(given):
        good.take(record(offset, pair))
    return good


@pytest.mark.parametrize("value", [b"torn", b"{}", b"\xff"])
def test_a_record_that_cannot_be_read_leaves_the_last_good_one(value: bytes) -> None:
    key, _ = single(1)
    good = held(single(1), single(2))
    assert good.take(record(9, (key, value))) is not None
    assert versions(good) == {key: (1, 2)}
    good.take(record(10, single(3)))
    assert versions(good) == {key: (1, 3)}


def test_an_older_one_leaves_the_last_and_is_no_fault() -> None:
    good = held(single(2))
    assert good.take(record(1, single(1))) is None
    assert versions(good) == {single(1)[0]: (1, 2)}


def test_parts_of_a_new_model_leave_the_old_one_until_they_are_whole() -> None:
    old, (*new, last) = parts(1), parts(2)
    assert len(old) > 3
    random.Random(2).shuffle(new)
    good = held(*old, *new)
    good.take(record(99, (new[0][0], b"torn")))
    name = old[0][0]
    assert versions(good) == {name: (1, 1)}
    assert versions(good, last) == {name: (1, 2)}, "it has the other parts"
    good.take(record(100, last))
    assert versions(good) == {name: (1, 2)}
    assert len([*good]) == len(old)


def test_a_withdrawn_model_is_gone() -> None:
    good = held(single(1), *parts(1), *((key, None) for key, _ in (single(1), *parts(1))))
    assert [*good] == []
