"""`saffron.open`: results at once, event time without events, snapshots, bad events, failures, coroutines."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

import saffron
from saffron.api.result import Result
from saffron.engine.operators import aggregates
from saffron.engine.windows.dead_letters import DeadLetter
from saffron.errors import InputError, QueryError, SaffronError, SchemaError
from saffron.runtime.replay import fused
from saffron.schema.functions import own
from tests.unit.api.samples import EVENTS, MATCHES, SCHEMA, TRENDS

_MANY = 2_000
"""Repetitions of EVENTS: more than a batch has."""

ORDERS: dict[str, Any] = {
    "oneOf": [
        {"type": "object", "properties": {"type": {"const": name}, "ts": {}, "id": {"type": "integer"}}}
        for name in ("Order", "Pay")
    ]
}
UNPAID = "QUERY unpaid PATTERN SEQ(Order o, NOT Pay p) WHERE [id] WITHIN 10 s RETURN o.id AS id"


def order(ts: int, number: int = 1) -> dict[str, Any]:
    return {"type": "Order", "ts": ts, "id": number}


class TestFeeding:
    def test_results_come_with_the_event_that_completes_them(self) -> None:
        with saffron.open(MATCHES) as live:
            found = [len(live.feed(event)) for event in EVENTS]
            (match,) = live.feed({**EVENTS[0], "ts": 9500}) or live.feed({**EVENTS[3], "ts": 9600, "x": 3})
            assert isinstance(match, saffron.Match)
            assert match.returns["who"] == "ann"
            assert live.counts == {"peaks": 3}
        assert found == [0, 0, 0, 2, 0]

    def test_all_is_as_in_a_replay(self) -> None:
        wanted = [one.to_dict() for one in saffron.replay([MATCHES, TRENDS], EVENTS, schema=SCHEMA)]
        with saffron.open([MATCHES, TRENDS], SCHEMA) as live:
            assert [one.to_dict() for one in [*live.feed(EVENTS), *live.flush()]] == wanted

    def test_events_may_be_all_that_a_replay_reads(self, tmp_path: Path) -> None:
        path = tmp_path / "events.ndjson"
        path.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in EVENTS[:3]))
        with saffron.open(MATCHES) as live:
            assert live.feed(path) == []
            assert len(live.feed(event for event in EVENTS[3:])) == 2

    def test_an_error_has_the_results_before_it(self) -> None:
        def broken() -> Iterator[dict[str, Any]]:
            for number in range(_MANY):
                yield from ({**event, "ts": event["ts"] + 20_000 * number} for event in EVENTS)
            raise OSError("the disk is gone")

        with saffron.open(MATCHES) as live:
            with pytest.raises(OSError, match="the disk is gone") as raised:
                live.feed(broken())
            found = raised.value.results  # type: ignore[attr-defined]
            assert len(found) == live.counts["peaks"] == 2 * _MANY

    def test_what_is_no_event_is_refused(self) -> None:
        with saffron.open(MATCHES) as live, pytest.raises(InputError, match="events are a int"):
            live.feed(3)

    def test_a_text_that_does_not_fit_the_schema(self) -> None:
        with pytest.raises(QueryError, match="unknown attribute 'y'"):
            saffron.open("PATTERN SEQ(Rise a, Fall b) WHERE a.y > 1 WITHIN 1 s", SCHEMA)

    def test_a_graph_with_all_its_chunks_is_one_result(self) -> None:
        with saffron.open("PATTERN SEQ(Rise+ a[], Fall b) WITHIN 9 s OUTPUT COMPRESSED") as live:
            (graph,) = [one for event in EVENTS[:4] for one in live.feed(event)]
        assert isinstance(graph, saffron.Compressed)
        assert graph.count == 3


class TestEventTime:
    def test_a_not_at_the_end_is_decided_when_time_has_passed(self) -> None:
        with saffron.open(UNPAID, ORDERS) as live:
            assert live.feed(order(1000)) == []
            assert live.advance(11_000) == []
            (late,) = live.advance(11_001)
            assert late.returns == {"id": 1}
            assert live.advance(5_000) == []

    def test_time_may_be_a_datetime(self) -> None:
        with saffron.open(UNPAID, ORDERS) as live:
            live.feed(order(0))
            assert len(live.advance(datetime(1970, 1, 1, 0, 0, 10, 1000, tzinfo=UTC))) == 1

    def test_an_event_may_be_late_by_the_disorder(self) -> None:
        with saffron.open(UNPAID, ORDERS, disorder=timedelta(seconds=2)) as live:
            assert live.feed([order(5000, 2), order(4000, 1)]) == []
            assert [one.returns["id"] for one in live.advance(20_000)] == [1, 2]

    def test_the_end_of_the_stream_completes_what_waits(self) -> None:
        live = saffron.open(UNPAID, ORDERS)
        live.feed(order(1000))
        assert len(live.flush()) == 1
        with pytest.raises(InputError, match="was closed"):
            live.feed(order(2000))
        live.close()


class TestBadEvents:
    def test_the_first_is_warned_of_and_all_are_kept(self) -> None:
        live = saffron.open(UNPAID, ORDERS)
        live.feed(order(5000))
        with pytest.warns(UserWarning, match=r"event 1: late: ts 1 is below 5000"):
            live.feed(order(1))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            live.feed([{"type": "Order"}, "no event"])
        assert [one.reason for one in live.dead_letters] == ["late", "no-ts", "not-json"]
        with pytest.warns(UserWarning, match="3 events were bad or late in all"):
            live.close()

    def test_whoever_wants_them_is_called(self) -> None:
        letters: list[DeadLetter] = []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            live = saffron.open(UNPAID, ORDERS, on_dead_letter=letters.append)
            live.feed([order(5000), order(1)])
        assert [one.offset for one in letters] == [1]

    def test_one_who_is_called_and_fails_loses_neither_results_nor_letters(self) -> None:
        told: list[int] = []

        def fails(letter: DeadLetter) -> None:
            told.append(letter.offset)
            if letter.offset == 1:
                raise ValueError("of the user's own")

        live = saffron.open(MATCHES, on_dead_letter=fails)
        bad = {"type": "Fall", "ts": "soon"}
        with pytest.raises(ValueError, match="of the user's own") as raised:
            live.feed([EVENTS[0], bad, bad, EVENTS[3]])
        assert len(raised.value.results) == live.counts["peaks"] == 1  # type: ignore[attr-defined]
        assert (told, [one.offset for one in live.dead_letters]) == ([1], [1, 2])
        live.feed(bad)
        assert told == [1, 2, 4]

    def test_warnings_that_are_errors_lose_no_results(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            live = saffron.open(MATCHES)
            with pytest.raises(UserWarning, match="event 1: bad-ts") as raised:
                live.feed([EVENTS[0], {"type": "Fall", "ts": "soon"}, EVENTS[3]])
            assert len(raised.value.results) == 1  # type: ignore[attr-defined]
            unseen = saffron.open(UNPAID)
            unseen.feed(order(1000))
            with pytest.raises(UserWarning, match="no event has had this yet") as raised:
                unseen.flush()
            assert len(raised.value.results) == unseen.counts["unpaid"] == 1  # type: ignore[attr-defined]

    def test_names_that_no_event_has_had_are_told_at_the_end(self) -> None:
        live = saffron.open(UNPAID)
        live.feed(order(1000))
        with pytest.warns(UserWarning, match=r"query unpaid: no event has had this yet.*'Pay'"):
            live.close()

    def test_a_timestamp_that_is_the_time_until_events_have_one_fails_the_query(self) -> None:
        live = saffron.open("PATTERN A a WITHIN 1 s RETURN a.timestamp AS v")
        assert [match.returns["v"] for match in live.feed({"type": "A", "ts": 1})] == [1]
        with pytest.warns(UserWarning, match="Write ts for the time"):
            live.feed({"type": "A", "ts": 2, "timestamp": "p"})
        with pytest.raises(SchemaError, match="timestamp was read as the time of events of type 'A'"):
            live.feed({"type": "A", "ts": 3})

    def test_values_of_another_kind_are_told_at_the_end(self) -> None:
        live = saffron.open("PATTERN SEQ(A a, A b) WHERE [x] WITHIN 1 s")
        live.feed([{"type": "A", "ts": 1, "x": "one"}, {"type": "A", "ts": 2, "x": 5}])
        with pytest.warns(UserWarning, match="values are left out and null: 1 of 'x'"):
            live.close()

    @pytest.mark.parametrize("ts", ["soon", None, 2**60, float("nan")])
    def test_event_time_that_is_no_time_changes_nothing(self, ts: Any) -> None:
        live = saffron.open(UNPAID, ORDERS)
        with pytest.raises(InputError, match=r"^ts is "):
            live.advance(ts)
        assert live.feed(order(1000)) == []
        assert live.dead_letters == []

    def test_event_time_may_be_a_fraction_as_the_clock_gives_it(self) -> None:
        live = saffron.open(UNPAID, ORDERS)
        live.feed(order(1000))
        assert live.advance(11_000.9) == []
        assert len(live.advance(11_001.1)) == 1

    @pytest.mark.parametrize("disorder", ["5s", None, -1, timedelta(seconds=-1), float("inf")])
    def test_disorder_that_is_no_duration(self, disorder: Any) -> None:
        with pytest.raises(InputError, match=r"^disorder is "):
            saffron.open(UNPAID, ORDERS, disorder=disorder)
        with pytest.raises(InputError, match=r"^disorder is "):
            saffron.replay(UNPAID, [], schema=ORDERS, disorder=disorder)

    def test_a_path_is_no_text(self) -> None:
        with pytest.raises(InputError, match=r"'fails\.saf' is no query; if it is a file's path, write Path"):
            saffron.open("fails.saf")


class TestFailures:
    def test_one_query_fails_and_the_others_go_on(self) -> None:
        @saffron.function(name="picky")
        def picky(name: str) -> str:
            if name == "bad":
                raise ValueError("not this one")
            return name

        try:
            fails = "QUERY fails PATTERN SEQ(A a, A b) WHERE [picky(s)] WITHIN 1 s"
            goes_on = "QUERY goes_on PATTERN SEQ(A a, A b) WITHIN 1 s"
            live = saffron.open([fails, goes_on])
            live.feed({"type": "A", "ts": 1, "s": "good"})
            with pytest.warns(UserWarning, match="query fails failed"):
                assert [one.query for one in live.feed({"type": "A", "ts": 2, "s": "bad"})] == ["goes_on"]
            assert list(live.failed) == ["fails"]
            restored = saffron.open([fails, goes_on], snapshot=live.snapshot())
            assert restored.failed == live.failed
            assert [one.query for one in restored.feed({"type": "A", "ts": 3, "s": "good"})] == ["goes_on"]
            alone = saffron.open(fails)
            with pytest.warns(UserWarning, match="failed"):
                alone.feed({"type": "A", "ts": 2, "s": "bad"})
            with pytest.raises(SaffronError, match="not this one"):
                alone.feed({"type": "A", "ts": 3, "s": "good"})
        finally:
            own.forget("picky")

    def test_a_query_that_the_first_events_refute_is_told(self) -> None:
        live = saffron.open("PATTERN SEQ(A+ a[], B b) WITHIN 1 s RETURN sum(a[].x) AS s")
        with pytest.warns(UserWarning, match="failed: query error"):
            live.feed({"type": "A", "ts": 1, "x": "text"})
        with pytest.raises(SaffronError, match="query error"):
            live.feed({"type": "A", "ts": 2, "x": "text"})

    def test_a_condition_that_the_first_events_make_void_is_warned_of(self) -> None:
        live = saffron.open("PATTERN SEQ(A a, B b) WHERE a.x > 1 WITHIN 1 s")
        with pytest.warns(UserWarning, match="a string is compared with a number"):
            live.feed([{"type": "A", "ts": 1, "x": "text"}, {"type": "B", "ts": 1}])


class TestSnapshots:
    def test_it_goes_on_where_it_was_cut(self) -> None:
        live = saffron.open([MATCHES, TRENDS])
        for event in EVENTS[:3]:
            live.feed(event)
        kept = live.snapshot()
        wanted = [one.to_dict() for one in [*live.feed(EVENTS[3:]), *live.flush()]]
        again = saffron.open([MATCHES, TRENDS], snapshot=kept)
        assert [one.to_dict() for one in [*again.feed(EVENTS[3:]), *again.flush()]] == wanted
        assert len(wanted) > 2

    def test_before_the_first_event(self) -> None:
        live = saffron.open(MATCHES, snapshot=saffron.open(MATCHES).snapshot())
        assert len(live.feed(EVENTS)) == 2

    def test_of_other_queries_or_settings(self) -> None:
        kept = saffron.open(MATCHES).snapshot()
        with pytest.raises(InputError, match="other queries"):
            saffron.open(UNPAID, snapshot=kept)
        with pytest.raises(InputError, match="other disorder: 0, not 5"):
            saffron.open(MATCHES, disorder=5, snapshot=kept)
        with pytest.raises(InputError, match="other schema"):
            saffron.open(MATCHES, SCHEMA, snapshot=kept)

    def test_damaged(self) -> None:
        kept = saffron.open(MATCHES).snapshot()
        for data in (b"", kept[:-1], kept[:100] + b"?" + kept[101:]):
            with pytest.raises(InputError, match="no whole snapshot"):
                saffron.open(MATCHES, snapshot=data)

    def test_interpreted_and_compiled_take_over_from_each_other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fused, "INTERPRETED_SECONDS", 60.0)
        wanted = [one.id for one in saffron.replay([MATCHES, TRENDS], EVENTS)]
        live = saffron.open([MATCHES, TRENDS])
        found = []
        for at, event in enumerate(EVENTS):
            live = saffron.open([MATCHES, TRENDS], snapshot=live.snapshot(), compiled=at % 2 == 0)
            found += live.feed(event)
        assert [one.id for one in [*found, *live.flush()]] == wanted

    def test_an_aggregate_of_the_users_own(self) -> None:
        @saffron.aggregate(name="product", initial=1.0)
        def product(acc: float, x: float) -> float:
            return acc * x

        try:
            text = "PATTERN SEQ(Rise+ a[], Fall b) WHERE [user] WITHIN 5 s RETURN product(a[].n) AS p"
            live = saffron.open(text)
            live.feed(EVENTS[:3])
            live = saffron.open(text, snapshot=live.snapshot())
            assert [one.returns["p"] for one in live.feed(EVENTS[3:])] == [3, 3]
        finally:
            aggregates.forget("product")


def test_coroutines_run_one_after_another() -> None:
    async def fed() -> list[saffron.Result]:
        found: list[saffron.Result] = []
        async with saffron.open([MATCHES, TRENDS]) as live:
            for some in await asyncio.gather(*(live.afeed(event) for event in EVENTS)):
                found += some
            found += await live.aadvance(21_000)
            found += await live.aflush()
        return found

    wanted = saffron.replay([MATCHES, TRENDS], EVENTS)
    assert [one.id for one in asyncio.run(fed())] == [one.id for one in wanted]


@pytest.mark.parametrize("end", ["aflush", "close"])
def test_coroutines_of_a_closed_one_are_refused_as_calls_are(end: str) -> None:
    async def fed() -> None:
        live = saffron.open(MATCHES)
        await live.afeed(EVENTS)
        if end == "close":
            live.close()
        else:
            await live.aflush()
        for again in (live.afeed(EVENTS[1]), live.aadvance(21_000), live.aflush()):
            with pytest.raises(InputError, match="was closed"):
                await again

    asyncio.run(fed())


def test_whoever_gives_up_waiting_gets_the_results_with_the_next() -> None:
    began, over = threading.Event(), threading.Event()

    def slow() -> Iterator[dict[str, Any]]:
        began.set()
        assert over.wait(60)
        yield from EVENTS[:4]
        raise OSError("the connection is lost")

    async def fed() -> tuple[int, list[str]]:
        async with saffron.open(MATCHES) as live:
            given_up = [asyncio.create_task(live.afeed(one)) for one in (slow(), EVENTS[4])]
            await asyncio.to_thread(began.wait, 60)
            for one in given_up:
                one.cancel()
            assert all(
                isinstance(one, asyncio.CancelledError)
                for one in await asyncio.gather(*given_up, return_exceptions=True)
            )
            over.set()
            with pytest.warns(UserWarning, match="that was given up failed: OSError: the connection is lost") as told:
                results = await live.aadvance(21_000)
            assert told[0].filename == __file__
            assert await live.aflush() == []
            return live.counts["peaks"], [one.id for one in results]

    wanted = [one.id for one in saffron.replay(MATCHES, EVENTS)]
    assert asyncio.run(fed()) == (len(wanted), wanted)


async def given_up(live: saffron.Live, call: Callable[[], Coroutine[Any, Any, list[Result]]], *, soon: bool) -> None:
    """Make a call that is given up while the thread of `live` is at other work, and wait for its end unless `soon`."""
    over = threading.Event()
    live._aside(over.wait)
    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    over.set()
    if not soon:
        await asyncio.wrap_future(live._given_up[-1])


@pytest.mark.parametrize("soon", [True, False])
def test_the_results_of_a_flush_that_was_given_up_come_with_the_next(soon: bool) -> None:
    orders = [order(1_000), order(2_000, 2)]
    wanted = [one.id for one in saffron.replay(UNPAID, orders, schema=ORDERS)]

    async def flushed() -> list[str]:
        live = saffron.open(UNPAID, ORDERS)
        assert await live.afeed(orders) == []
        await given_up(live, live.aflush, soon=soon)
        second = await live.aflush()
        with pytest.raises(InputError, match="closed"):
            await live.aflush()
        return [one.id for one in second]

    async def fed() -> list[str]:
        live = saffron.open(UNPAID, ORDERS)
        assert await live.afeed(orders) == []
        await given_up(live, live.aflush, soon=soon)
        with pytest.raises(InputError, match="closed") as raised:
            await live.afeed(orders)
        return [one.id for one in raised.value.results]  # type: ignore[attr-defined]

    assert asyncio.run(flushed()) == asyncio.run(fed()) == wanted
    assert len(wanted) == 2


def test_a_good_call_does_not_raise_the_error_of_one_that_was_given_up() -> None:
    wanted = [one.id for one in saffron.replay(MATCHES, EVENTS)]

    async def fed() -> list[str]:
        async with saffron.open(MATCHES) as live:
            await given_up(live, lambda: live.afeed(3), soon=True)
            with pytest.warns(UserWarning, match="that was given up failed: InputError: events are a int"):
                found = await live.afeed(EVENTS)
            return [one.id for one in (*found, *await live.aflush())]

    assert asyncio.run(fed()) == wanted


def test_where_warnings_are_errors_the_results_are_with_them() -> None:
    async def fed() -> list[str]:
        async with saffron.open(MATCHES) as live:
            await given_up(live, lambda: live.afeed(3), soon=True)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with pytest.raises(UserWarning, match="given up") as raised:
                    await live.afeed(EVENTS)
            return [one.id for one in (*raised.value.results, *await live.aflush())]  # type: ignore[attr-defined]

    assert asyncio.run(fed()) == [one.id for one in saffron.replay(MATCHES, EVENTS)]


def test_a_second_thread_is_refused_while_one_feeds() -> None:
    """One thread stops in the midst of its events; the other may feed once it is done."""
    began, over = threading.Event(), threading.Event()

    def slow() -> Iterator[dict[str, Any]]:
        yield {"type": "A", "ts": 1, "x": 1}
        began.set()
        assert over.wait(60)

    with saffron.open("PATTERN A a WITHIN 1 s") as live:
        fed: list[int] = []
        thread = threading.Thread(target=lambda: fed.append(len(live.feed(slow()))))
        thread.start()
        assert began.wait(60)
        for use in (lambda: live.feed({"type": "A", "ts": 2, "x": 2}), lambda: live.advance(5), live.snapshot):
            with pytest.raises(InputError, match="two threads use this at one time"):
                use()
        over.set()
        thread.join()
        assert (fed, len(live.feed({"type": "A", "ts": 2, "x": 2}))) == ([1], 1)


def test_a_dead_letter_may_be_fed_again_corrected() -> None:
    found = []
    with saffron.open(
        "PATTERN A a WITHIN 1 s", on_dead_letter=lambda one: found.append(live.feed({"type": "A", "ts": 3}))
    ) as live:
        assert live.feed({"type": "A", "ts": "soon"}) == []
    assert [len(one) for one in found] == [1]
