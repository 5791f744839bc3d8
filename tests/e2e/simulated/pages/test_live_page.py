"""The live page in a real browser, over what a simulated system has written: all that it shows, and all its buttons.

Where no Chromium is found these tests are deselected, and pytest's first lines say so (tests/conftest.py).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Awaitable, Callable, Iterator
from decimal import Decimal

import orjson
import pytest

from saffron.control import api
from saffron.control.openapi import document
from saffron.runtime.log import TopicSpec
from tests.e2e.simulated.pages.browser import Tab, browser
from tests.e2e.simulated.pages.served import click, count, fill, serving, text
from tests.e2e.simulated.system import FALLS, RALLY, TOPICS, Source, make_system
from tests.memory.memory_log import MemoryLog
from tests.unit.control.described import METHODS
from tests.unit.engine.events.test_framed import FIRST, MS, WHEN, avro, framed
from tests.unit.runtime.world import NO_CHAOS, World
from tests.unit.windowing.fake_registry import running

Talk = Callable[[Tab, str], Awaitable[None]]
Look = Callable[..., None]
PAID = "QUERY paid FROM shop PATTERN SEQ(orders o, payments p) WHERE [order_id] WITHIN 1 hour"
NOON = 1_777_629_600_000


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A system that has matched some hundred events, and has some dead letters."""
    world = make_system(2, tmp_path_factory.mktemp("life"), partitions=2)
    world.chaos = NO_CHAOS
    source = Source(world, 2, random.Random(2))
    source.query("rally", RALLY)
    source.query("falls", FALLS)
    turns = itertools.count()
    world.run(300, lambda: source.events(12) if next(turns) % 10 == 0 else None)
    world.settle(lambda: True)
    return world


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def tab(loop: asyncio.Runner, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One browser for all tests here."""
    running = browser(chromium, tmp_path_factory.mktemp("profile"))
    yield loop.run(running.__aenter__())
    loop.run(running.__aexit__(None, None, None))


@pytest.fixture
def look(world: World, loop: asyncio.Runner, tab: Tab, monkeypatch: pytest.MonkeyPatch) -> Look:
    """Runs a talk with the page in a browser; its scripts must not have complained."""
    monkeypatch.setattr(api, "wall_ms", lambda: world.now)

    async def run(talk: Talk, token: str) -> list[str]:
        async with serving(world, token) as url:
            tab.complaints.clear()
            await tab.size(1200)
            await tab.go(url)
            await talk(tab, url)
            complaints = list(tab.complaints)
            await tab.go("about:blank#end")
            return complaints

    def look(talk: Talk, token: str = "", refusals: tuple[str, ...] = ()) -> None:
        complaints = loop.run(run(talk, token))
        assert [one for one in complaints if not any(refusal in one for refusal in refusals)] == []

    return look


def test_it_shows_queries_latency_overload_results_and_fits_every_window(look: Look) -> None:
    async def talk(tab: Tab, url: str) -> None:
        drawn = "[...document.querySelectorAll('.query img')].filter((one) => one.naturalWidth > 50).length === 2"
        await tab.until(drawn, "automata")
        assert await tab.value(count(".query .badge.active")) == 2
        assert await tab.value(text("#overload")) == (
            "overload: dropping events to save 12.5 % of the work, keeping 1200 partial matches; "
            "estimated loss since the start: rally 3.40 %; false, of those found: rally 1.25 %"
        )
        assert await tab.value(count("#overload.shedding")) == 1
        assert await tab.value(count("#chart-latency .curve")) >= 2
        assert await tab.value(count("#chart-latency .bound")) == 1
        assert await tab.value(count("#services .up")) >= 3
        await tab.until(count("#results details") + " === 20", "results")
        for width, dark in ((360, False), (360, True), (768, False), (1600, True)):
            await tab.size(width, dark=dark)
            assert await tab.value("document.documentElement.scrollWidth <= innerWidth"), f"{width} is too narrow"

    look(talk)


def shows(result: str, *denied: str) -> str:
    """The call that shows a result, given as JavaScript, and topics that may not be read."""
    return f"showResults({{ results: [{result}], denied: {json.dumps(denied)} }})"


def test_a_result_in_which_a_variable_is_bound_to_nothing_is_shown_like_others(look: Look) -> None:
    result = {"id": "3b76", "query": "q", "key": {}, "return": {}, "detected_at": 1}
    result |= {"events": {"a": None, "b": {"seq": 1, "ts": 2, "type": "B"}, "c": [], "d": [{"seq": 1}]}}

    async def talk(tab: Tab, url: str) -> None:
        await tab.until(count("#results details") + " === 20", "results")
        line = await tab.value(f"{shows(json.dumps(result))}; document.querySelector('#results code').textContent")
        assert line == "b: B 1  c: 0 events  d: 1 event"
        foreign = json.dumps({"query": "q", "topic": "alerts", "bytes": 5})
        shown = f"{shows(foreign)}; [{count('#results button')}, {text('#results .when')}]"
        assert await tab.value(shown) == [0, ""], "there is no id to ask about, and no time"
        told = await tab.value(f"{shows(foreign, 'alarms', 'orders')}; {text('#denied:not([hidden])')}")
        assert told.endswith("may not read it (DESCRIBE, READ): alarms, orders")

    look(talk)


def test_integers_keep_all_their_digits(look: Look) -> None:
    result = '{"id":"3b","query":"12345678901234567890","key":{"order_id":1234567890123456789},"detected_at":1,'
    result += '"return":{"id":-9007199254740993,"n":9007199254740991,"x":1.5,"s":"a\\"12345678901234567890"}}'

    async def talk(tab: Tab, url: str) -> None:
        await tab.until(count("#results details") + " === 20", "results")
        shown = f"{shows(f'exact({json.dumps(result)})')}; [{text('#results code')}, {text('#results pre')}]"
        line, whole = await tab.value(shown)
        assert line == (
            'order_id 1234567890123456789  id -9007199254740993  n 9007199254740991  x 1.500  s a"12345678901234567890'
        )
        assert json.loads(whole) == json.loads(result)
        assert await tab.value("exact('[1e400, 10000000000000000.0, 12345678901234567890]').join()") == (
            "Infinity,10000000000000000,12345678901234567890"
        )
        assert await tab.value("exact(JSON.stringify(['x'.repeat(2e7), '\\n'])).join('').length") == 20_000_001
        await tab.go(url + "topics")
        await tab.until("typeof keyOf === 'function'", "page")
        assert await tab.value(f"keyOf(exact({json.dumps(result)}))") == "order_id=1234567890123456789"

    look(talk)


def test_a_plan_that_could_not_be_asked_for_is_asked_for_again(look: Look) -> None:
    async def talk(tab: Tab, url: str) -> None:
        await tab.until(count(".query img") + " === 2", "plans")
        await tab.value("window.kept = window.fetch; window.fetch = () => Promise.reject(new TypeError('-'))")
        await tab.value("document.querySelectorAll('.query img').forEach((one) => one.remove()); plans.clear()")
        await tab.value("Promise.all(['rally', 'falls'].map((name) => loadPlan({ name, version: 1 })))")
        assert await tab.value(count(".query img")) == 0
        await tab.value("window.fetch = window.kept")
        await tab.until(count(".query img") + " === 2", "plans again")

    look(talk)


def test_the_verdict_tells_a_fault_of_the_page_from_a_service_that_does_not_answer(look: Look) -> None:
    async def talk(tab: Tab, url: str) -> None:
        await tab.until(text("#verdict") + " && " + count("#results details"), "results")
        await tab.value("window.showResults = () => { throw new Error('of a test'); }")
        await tab.until(text("#verdict.bad") + " === 'this page has a fault: of a test'", "fault")
        await tab.value("window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
        await tab.until(text("#verdict.bad") + "?.startsWith('the control service does not answer')", "no answer")

    look(talk, refusals=("of a test",))


def test_why_and_why_not(look: Look) -> None:
    async def talk(tab: Tab, url: str) -> None:
        await tab.until(count("#why-query option") + " === 2 && " + count("#results details"), "queries and results")
        await tab.value(fill("#why-query", "rally") + ";" + fill("#why-ask", "symbol=IBM"))
        await tab.value(click("#why-form button"))
        told = await tab.until(
            "document.querySelector('#why-answer').textContent.match(/matches[^]*computed from/)?.[0]", "trace"
        )
        assert "refused" in told or "match" in told
        await tab.value(fill("#why-ask", "symbol=IBN") + ";" + click("#why-form button"))
        await tab.until(text("#why-answer.bad") + "?.includes(\"Did you mean 'IBM'\")", "what was meant")
        rows = "[...document.querySelectorAll('#results details')]"
        await tab.value(f"{rows}.find((one) => one.innerText.includes('rally')).querySelector('button').click()")
        await tab.until(text("#why-answer") + "?.startsWith('rally, symbol=')", "trace of a result")

    look(talk, refusals=("status of 404",))


def test_a_dead_letter_is_mended_and_sent(look: Look, world: World) -> None:
    mended = '{"type":"Stock","ts":900000000,"symbol":"KO","sector":"food","price":9.0}'

    async def talk(tab: Tab, url: str) -> None:
        await tab.until(count("#letters details"), "letters")
        assert await tab.value(count("#letter-reason option")) == 3
        chosen = fill("#letter-reason", "not-json") + ";"
        chosen += "document.querySelector('#letter-reason').dispatchEvent(new Event('change'))"
        await tab.value(chosen)
        await tab.until(
            "[...document.querySelectorAll('#letters b')].every((one) => one.textContent === 'not-json')", "filter"
        )
        await tab.value("document.querySelector('#letters details').open = true")
        shown = await tab.until(text("#letters .shown"), "place")
        assert shown.split("\n")[1:] == ["LINE 1: {broken", "         ^"]
        await tab.value(click("#letters .row button"))
        assert "7b 62 72 6f 6b 65 6e" in await tab.value(text("#letters .hex"))
        await tab.value(click("#letters .send"))
        await tab.until(text("#letters .answer.bad") + "?.includes('would be a dead letter again')", "refusal")
        await tab.value(fill("#letters textarea", mended) + ";" + click("#letters .try"))
        await tab.until(text("#letters .answer.good") + "?.startsWith('would be sent to t.events/')", "trial")
        assert await tab.value(count("#letters .badge.sent:not([hidden])")) == 0
        await tab.value(click("#letters .send"))
        await tab.until(count("#letters .badge.sent:not([hidden])") + " === 1", "note")
        await tab.value("window.confirm = () => false; " + click("#letters .send"))
        await tab.until(text("#letters .answer.bad") + "?.includes('was sent again at')", "second refusal")

    look(talk, refusals=("status of 409",))
    sent = [record.value for one in range(2) for record in world.read(TOPICS.events, one, committed_only=False)]
    assert sent.count(mended.encode()) == 1


def test_a_query_is_checked_added_paused_and_removed_behind_a_token(look: Look) -> None:
    async def talk(tab: Tab, url: str) -> None:
        await tab.until("!document.querySelector('#token-form').hidden", "question for the token")
        await tab.value(fill("#token", "secret") + ";" + click("#token-form button"))
        await tab.until(count(".query[data-name=rally]"), "queries")
        await tab.value("document.querySelector('#add').open = true; window.confirm = () => true")
        await tab.value(fill("#add-text", "QUERY ups PATTERN SEQ(Stock a, Stock b) WHERE b.price > c.price WITHIN 1 s"))
        await tab.value(click("#add-check"))
        await tab.until(text("#add-answer.bad") + "?.includes('^')", "carets")
        await tab.value(fill("#add-text", "QUERY ups PATTERN SEQ(Stock a, Stock b) WITHIN 1 s"))
        await tab.value(click("#add-form .main"))
        await tab.until(text("#add-answer.bad") + "?.includes('2 partitions')", "refusal")
        await tab.value(click(".query[data-name=rally] .pause"))
        await tab.until("!document.querySelector('.query[data-name=rally] .resume').hidden", "pause")
        await tab.value(click(".query[data-name=falls] .remove"))
        await tab.until(count(".query[data-name=falls]") + " === 0", "removal")

    look(talk, "secret", refusals=("status of 401", "status of 400"))


def test_topics_become_a_stream_and_a_query_is_tried_on_their_messages(look: Look, world: World) -> None:
    world.topics(TopicSpec("orders", 1, {}), TopicSpec("payments", 1, {}))
    producer = MemoryLog(world.broker).producer()
    for n in range(30):
        order, paid = {"order_id": f"O-{n}", "at": NOON + n}, {"order": {"id": f"O-{n}"}, "at": NOON + 60_000 + n}
        producer.send("orders", 0, orjson.dumps(order), timestamp=NOON + n)
        producer.send("payments", 0, orjson.dumps(paid), timestamp=NOON + 60_000 + n)
    producer.send("orders", 0, b'{"order_id":"O","at":%d,"a.b":1,"a":{"b":2}}' % (NOON + 30), timestamp=NOON + 30)
    producer.send("orders", 0, b'{"order_id": 12345678901234567890', timestamp=NOON + 31)
    producer.flush(1)

    async def talk(tab: Tab, url: str) -> None:
        await tab.go(url + "topics")
        await tab.until(count("#topics input[type=checkbox]") + " === 2", "topics")
        await tab.value("document.querySelectorAll('#topics input[type=checkbox]').forEach((one) => one.click())")
        await tab.value(fill("#infer-name", "shop") + ";" + click("#infer-form button"))
        proposed = await tab.until("document.querySelector('#definition').value", "definition")
        assert "order_id: order.id" in proposed
        await tab.value(click("#look"))
        await tab.until(count("#messages details") + " === 20", "messages")
        await tab.value("document.querySelector('#messages details').open = true")
        assert "12345678901234567890" in await tab.until(text("#messages .shown"), "value, with all its digits")
        await tab.value(click("#check"))
        await tab.until(text("#definition-answer.wait") + "?.includes('orders: 1 refused (not-json)')", "refusal")
        assert await tab.value(text("#messages .badge.failed")) == "not-json"
        assert "'a.b' beside another field of that name" in await tab.value(text("#definition-answer.wait"))
        assert await tab.value(count("#messages .badge.waiting")) == 1
        assert await tab.value(count("#messages .badge.active")) == 18
        broken = proposed.replace("epoch_ms", "epoch_xs")
        await tab.value(fill("#definition", broken) + ";" + click("#check"))
        await tab.until(text("#definition-answer.bad") + "?.includes('^^^')", "carets")
        await tab.value(fill("#definition", proposed) + ";" + click("#apply-form .main"))
        await tab.until(text("#definition-answer.good") + "?.includes('merges orders, payments')", "stream")
        await tab.until(count("#streams button") + " === 1", "row of the stream")
        assert await tab.value(count("#streams .down")) == 0
        await tab.value(
            fill("#query", "QUERY paid FROM shop PATTERN SEQ(orders o, payments p) WITHIN")
            + ";"
            + click("#try-form .main")
        )
        await tab.until(text("#query-answer.bad") + "?.includes('^')", "carets", seconds=300)
        await tab.value(fill("#query", PAID) + ";" + click("#try-form .main"))
        await tab.until(
            text("#query-answer.wait") + "?.startsWith('30 results; from 61 events')", "results", seconds=300
        )
        assert await tab.value(count("#results details")) == 30
        await tab.value("document.querySelector('#results details').open = true")
        await tab.value(click("#results button"))
        trace = "document.querySelector('#why-answer').textContent.match(/order_id=O-[^]*match/)?.[0]"
        await tab.until(trace, "trace", seconds=300)
        await tab.value(click("#add-query"))
        await tab.until(text("#query-answer.good") + "?.startsWith('added: paid')", "query")
        for width, dark in ((360, False), (360, True), (768, False), (1600, True)):
            await tab.size(width, dark=dark)
            assert await tab.value("document.documentElement.scrollWidth <= innerWidth"), f"{width} is too narrow"

    look(talk, refusals=("status of 400",))


def test_a_topic_in_avro_is_proposed_by_the_registry_that_the_form_names(look: Look, world: World) -> None:
    world.topics(TopicSpec("bids", 1, {}))
    producer = MemoryLog(world.broker).producer()
    for value in (avro(1, FIRST, {"ts": WHEN, "symbol": "IBM", "price": Decimal(1)}), framed(2, b"\2")):
        producer.send("bids", 0, value, timestamp=MS)
    producer.flush(1)

    async def talk(tab: Tab, url: str) -> None:
        await tab.go(url + "topics")
        await tab.until(count("#topics input[value=bids]") + " === 1", "topic")
        await tab.value(click("#topics input[value=bids]"))
        await tab.value(fill("#infer-name", "auction") + ";" + click("#infer-form button"))
        await tab.until(text("#infer-answer.wait") + "?.includes('--registry URL')", "advice")
        with running() as registry:
            registry.add(1, json.dumps(FIRST))
            await tab.value(fill("#infer-registry", registry.url) + ";" + click("#infer-form button"))
            await tab.until(text("#infer-answer.wait") + "?.includes('knows no schema 2')", "what was not read")
            proposed = await tab.value("document.querySelector('#definition').value")
            assert f'  registry: "{registry.url}"' in proposed
            await tab.value(click("#check"))
            await tab.until(text("#definition-answer.wait") + "?.includes('bids: 1 refused (unknown-schema)')", "check")

    look(talk)


def test_the_description_for_people_has_every_operation(look: Look) -> None:
    described = sum(method in item for item in document()["paths"].values() for method in METHODS)

    async def talk(tab: Tab, url: str) -> None:
        await tab.go(url + "api-docs")
        await tab.until(count(".operation") + f" === {described}", "operations")
        await tab.size(360)
        await tab.value("document.querySelectorAll('.operation').forEach((one) => { one.open = true; })")
        assert await tab.value("document.documentElement.scrollWidth <= innerWidth")

    look(talk)
