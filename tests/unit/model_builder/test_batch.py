"""Batches: done again after any failure they give the same bytes; models are published when they have moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saffron.engine.models.features.event_model import EventModel
from saffron.engine.models.reader import AnyModel
from saffron.engine.models.transitions.model import LatencyModel, TransitionModel
from saffron.engine.models.transitions.trainer import TransitionCounts, train_transitions
from saffron.errors import LogError
from saffron.model_builder import batch
from saffron.model_builder.batch import Batches
from saffron.model_builder.cell_sums import MESSAGE, PROCESSING, TRANSITION, Row
from saffron.model_builder.policy import Policy
from saffron.model_builder.store import Store, StoreError

BASE = Row("t", 0, TRANSITION, "q", 1, "events", 3, 100, True, 0, 1, 1, 0, 0, 1, 10)


def counts(forward: int, stay: int, query: str = "q", *, offset: int = 10) -> list[Row]:
    message = replace(BASE, kind=MESSAGE, query=query, count=forward + stay, b=0, next_offset=offset)
    moved, stayed = replace(BASE, query=query, a=1, b=2), replace(BASE, query=query, a=1, b=1)
    return [message, replace(moved, count=forward), replace(stayed, count=stay)]


def latencies(base: int) -> list[Row]:
    sample = replace(BASE, kind=PROCESSING, query=None, query_version=None, b=0)
    return [replace(sample, a=n, count=10, load=10 * n, time=10 * (base + 50 * n)) for n in (1, 100, 1000)]


class Topic:
    """The models topic: `fail` the next publications."""

    def __init__(self) -> None:
        self.models: list[AnyModel] = []
        self.fail = 0

    def publish(self, models: Sequence[AnyModel]) -> None:
        if self.fail:
            self.fail -= 1
            raise LogError("no broker")
        self.models += models

    def of(self, kind: type[AnyModel]) -> list[AnyModel]:
        return [model for model in self.models if isinstance(model, kind)]

    def written(self) -> list[bytes]:
        assert not self.of(EventModel)
        return [model.encode() for model in self.models if not isinstance(model, EventModel)]


@pytest.fixture
def topic() -> Topic:
    return Topic()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    assert store.open(1000, -1) == 1000
    return store


def batches(store: Store, topic: Topic, observations: int = 10, half_life: int = 360) -> Batches:
    return Batches(store, 1000, topic.publish, Policy(observations=observations, half_life=half_life))


def test_a_batch_publishes_versions_of_its_own_number(store: Store, topic: Topic) -> None:
    job = batches(store, topic)
    done = job.run(0, counts(20, 80) + latencies(2000))
    assert [model.version for model in done.models] == [(1000, 0), (1000, 0)]
    assert (done.batch, done.rows, done.refused) == (0, 6, 0)
    model = topic.models[0]
    assert isinstance(model, TransitionModel)
    assert model.matrix[1].tolist() == [0.0, 0.8, 0.2]
    assert model.trained_through == {"t": {"0": 10}}
    assert isinstance(topic.models[1], LatencyModel)


def test_a_first_model_waits_for_enough_observations(store: Store, topic: Topic) -> None:
    """Of partial matches: state 0, which meets every event, says nothing of them."""
    job = batches(store, topic, observations=100)
    assert job.run(0, [replace(BASE, count=5000)]).models == ()
    assert job.run(1, counts(10, 80)).models == ()
    assert len(job.run(2, counts(2, 8)).models) == 1


def test_only_what_has_moved_is_published_again(store: Store, topic: Topic) -> None:
    job = batches(store, topic)
    job.run(0, counts(200, 800) + counts(1, 1, "small") + latencies(2000))
    assert job.run(1, counts(20, 80) + latencies(2000)).models == ()
    moved = job.run(2, counts(900, 100) + latencies(2000) + latencies(900_000))
    assert [type(model) for model in moved.models] == [TransitionModel, LatencyModel]
    assert job.run(3, []).models == ()


def test_a_matrix_that_has_moved_by_the_papers_measure_is_published_whatever_explains_it(
    store: Store, topic: Topic
) -> None:
    job = batches(store, topic)
    job.run(0, counts(200, 800))
    assert len(job.run(1, counts(70, 150)).models) == 1


@pytest.mark.parametrize("half_life", [1, 2, 360])
@pytest.mark.parametrize("failures", [1, 3])
def test_a_batch_done_again_counts_once_and_publishes_the_same_bytes(
    store: Store, topic: Topic, failures: int, half_life: int
) -> None:
    """And forgets once: the job starts anew from its checkpoint each time."""
    given = [
        counts(20, 81) + latencies(2000),
        counts(90, 11, offset=20),
        counts(70, 31, offset=30) + latencies(90_001),
        counts(1, 400, offset=40),
    ]
    undisturbed = Topic()
    calm = Store(store.checkpoint / "calm")
    calm.open(1000, -1)
    calmly = batches(calm, undisturbed, half_life=half_life)
    for number, rows in enumerate(given):
        calmly.run(number, rows)
    for number, rows in enumerate(given):
        topic.fail = failures
        for _ in range(failures):
            with pytest.raises(LogError):
                batches(store, topic, half_life=half_life).run(number, rows)
        batches(store, topic, half_life=half_life).run(number, rows)
        batches(store, topic, half_life=half_life).run(
            number, rows
        )  # killed behind the publication, before Spark's commit
    assert list(dict.fromkeys(topic.written())) == undisturbed.written()
    found, expected = store.newest(), calm.newest()
    assert found is not None
    assert expected is not None
    assert found.body() == expected.body()


# ------------------------------------------------------------ the store


def test_a_new_checkpoint_gets_an_epoch_above_all_others(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.open(1000, -1) == 1000
    assert store.open(900, 5000) == 5001  # still without offsets: still new
    assert store.open(9000, 5001) == 9000


def test_a_used_checkpoint_keeps_its_epoch(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.open(1000, -1)
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").touch()
    assert store.open(5000, 4000) == 1000
    (tmp_path / "saffron" / "epoch").unlink()
    with pytest.raises(StoreError, match="Delete"):
        store.open(5000, 4000)


def test_a_new_checkpoint_forgets_books_of_an_older_one(store: Store, topic: Topic) -> None:
    batches(store, topic).run(0, counts(20, 80))
    assert store.newest() is not None
    store.open(2000, 1000)
    assert store.newest() is None


@pytest.mark.parametrize("damage", ["missing", "torn", "flipped"])
def test_books_that_cannot_be_read_stop_the_job(store: Store, topic: Topic, damage: str) -> None:
    job = batches(store, topic)
    job.run(0, counts(20, 80))
    path = store.checkpoint / "saffron" / "books-000000000000.json"
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.write_bytes(content.replace(b"80", b"81", 1))
    with pytest.raises(StoreError, match="from which batch 1 must start"):
        job.run(1, counts(20, 80))
    assert len(topic.models) == 1


def test_few_files_are_kept_and_none_half_written(store: Store, topic: Topic) -> None:
    job = batches(store, topic)
    for number in range(9):
        job.run(number, counts(20, 80))
    names = sorted(path.name for path in (store.checkpoint / "saffron").iterdir())
    assert names == [f"books-{number:012d}.json" for number in range(5, 9)] + ["epoch"]


def test_what_cannot_be_learned_from_leaves_the_other_models_as_they_are(
    store: Store, topic: Topic, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And is tried again with the next counts."""
    fails = ["bad"]

    def learned(found: TransitionCounts, *rest: Any) -> TransitionModel:
        if found.query in fails:
            raise FloatingPointError("no solution")
        return train_transitions(found, *rest)

    monkeypatch.setattr(batch, "train_transitions", learned)
    job = batches(store, topic)
    job.run(0, counts(20, 80, "bad") + counts(20, 80, "good") + latencies(2000))
    assert [type(one).__name__ for one in topic.models] == ["TransitionModel", "LatencyModel"]
    assert "model of bad: left out" in caplog.text
    fails.clear()
    job.run(1, counts(1, 4, "bad"))
    assert [one.query for one in topic.models if isinstance(one, TransitionModel)] == ["good", "bad"]
