"""A query tried on messages: its results are those of a replay, and it ends."""

from __future__ import annotations

import asyncio
import itertools
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from saffron.control.checks import Refused
from saffron.control.streams.trial import MOST_RESULTS, explain, try_query
from saffron.control.streams.trial_request import Trial
from saffron.control.streams.trials import Trials
from saffron.errors import InputError, QueryError
from saffron.mapping.definition_reader import read_definition
from saffron.runtime.log import Record, TopicPartition
from saffron.runtime.streams.newest_messages import NewestRecords, from_one_moment
from saffron.runtime.streams.source_messages import Batch, translated, translations
from tests.unit.control.streams.shop import DEFINITION, NOON, PAID

SOURCES = read_definition(DEFINITION).sources
FORMATS = translations("")
Records = Mapping[TopicPartition, Sequence[Record]]


def shop(count: int, more: Records | None = None) -> dict[TopicPartition, Batch]:
    """The messages of a shop, and others."""
    records = {**records_of_shop(count), **(more or {})}
    return translated({place: NewestRecords(one, whole=True) for place, one in records.items()}, SOURCES, FORMATS)


def records_of_shop(count: int) -> Records:
    orders = [{"order_id": f"O-{n}", "total": 10 + n, "created_at": NOON + n} for n in range(count)]
    payments = [{"order": {"id": f"O-{n}"}, "paid_at": NOON // 1000 + 60} for n in range(count)]
    places = {TopicPartition("orders", 0): orders, TopicPartition("payments", 0): payments}
    return {
        place: [Record(*where(place), n, NOON + n, None, orjson.dumps(one)) for n, one in enumerate(values)]
        for place, values in places.items()
    }


def where(place: TopicPartition) -> tuple[str, int]:
    return place.topic, place.partition


def test_results_are_counted_and_the_first_are_shown() -> None:
    found = try_query(Trial(DEFINITION, PAID, shop(MOST_RESULTS + 20), 2, 60.0))
    assert (found["name"], found["count"], found["whole"]) == ("paid", MOST_RESULTS + 20, True)
    assert len(found["results"]) == MOST_RESULTS
    assert found["events"] == 2 * (MOST_RESULTS + 20)
    assert found["results"][0]["return"]["total"] >= 10
    assert "match query paid" in found["explain"]


def test_what_is_no_event_is_counted() -> None:
    broken = {TopicPartition("orders", 1): [Record("orders", 1, 7, NOON, None, b"{")]}
    found = try_query(Trial(DEFINITION, PAID, shop(2, broken), 1, 60.0))
    assert (found["count"], found["refused"]) == (2, {"not-json": 1})


def test_a_trial_ends_when_its_time_is_over() -> None:
    seconds = itertools.count(0, 30)
    found = try_query(Trial(DEFINITION, PAID, shop(3), 1, 10.0), clock=lambda: float(next(seconds)))
    assert found["whole"] is False


def test_a_query_of_another_stream_is_refused() -> None:
    with pytest.raises(InputError, match="over events: begin with FROM shop"):
        try_query(Trial(DEFINITION, PAID.replace("FROM shop ", ""), shop(1), 1, 10.0))


def test_a_key_is_explained() -> None:
    trial = Trial(DEFINITION, PAID, shop(3), 2, 10.0)
    trace = explain(trial, "order_id=O-1")
    assert (trace["query"], trace["key"], trace["matches"]) == ("paid", {"order_id": "O-1"}, 1)
    assert "match" in trace["text"]
    with pytest.raises(InputError, match="Did you mean"):
        explain(trial, "order_id=O-8")
    with pytest.raises(InputError, match="begin with FROM"):
        explain(replace(trial, query=PAID.replace("FROM shop ", "")), "order_id=O-1")


def test_the_process_gives_errors_with_their_places() -> None:
    async def talk() -> None:
        trials = Trials(longest=600)
        with pytest.raises(QueryError) as wrong:
            await trials.run(Trial(DEFINITION, "QUERY q FROM shop PATTERN SEQ(", shop(1), 1, 10.0))
        assert "^" in str(wrong.value)
        with pytest.raises(Refused, match="begin with FROM"):
            await trials.run(Trial(DEFINITION, PAID.replace("FROM shop ", ""), shop(1), 1, 10.0))

    asyncio.run(talk())


def test_a_process_that_does_not_end_is_ended() -> None:
    async def talk() -> None:
        with pytest.raises(Refused, match="has not ended after 0 s"):
            await Trials(longest=0).run(Trial(DEFINITION, PAID, shop(1), 1, 10.0))

    asyncio.run(talk())


def test_messages_are_those_from_the_moment_on_from_which_all_topics_are_known() -> None:
    records = records_of_shop(5)
    orders, payments = (TopicPartition(topic, 0) for topic in ("orders", "payments"))
    newest = {
        orders: NewestRecords(records[orders], whole=True),
        payments: NewestRecords(records[payments][3:], whole=False),
    }
    found, since = from_one_moment(newest)
    assert since == NOON + 3
    assert [one.offset for one in found[orders].records] == [3, 4]
    assert from_one_moment({orders: newest[orders]}) == ({orders: newest[orders]}, None)


def test_the_service_leaves_the_engine_to_the_process_of_a_trial() -> None:
    heavy = ("numba", "pyarrow", "saffron.engine.match.match_operator")
    code = f"import saffron.control.main, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_a_users_module_prints_is_no_part_of_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chatty.py").write_text("import os\nprint('hello')\nos.write(1, b'hello again')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    request = pickle.dumps(Trial(DEFINITION, PAID, shop(3), 2, 60.0))
    command = [sys.executable, "-m", "saffron.control.streams.trial", "chatty"]
    done = subprocess.run(command, input=request, capture_output=True, check=True)
    assert orjson.loads(done.stdout)["count"] == 3
    assert done.stderr == b"hello\nhello again" or done.stderr == b"hello againhello\n"
