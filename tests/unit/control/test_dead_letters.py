"""The desk over HTTP; what it does with letters is tested in tests/unit/runtime/dead_letters."""

from __future__ import annotations

from typing import Any

import pytest

from saffron.runtime.dead_letters.sending import ORIGIN
from saffron.runtime.log import TopicPartition
from tests.unit.control.world import TOPICS, Ask, World
from tests.unit.runtime.written import write_block, write_letter

BROKEN = b'{"type": "Stock", "ts": 9, "price": 1'
LETTER = "/api/dead-letters/events/0/0"


@pytest.fixture
def world() -> World:
    world = World()
    write_letter(world.log, TOPICS, 0, BROKEN, "not-json", "not JSON: unexpected end of data")
    return world


def sent(world: World) -> list[Any]:
    entries = world.log.broker.partition(TopicPartition(TOPICS.events, 0)).entries
    records = [one.record for one in entries if one.record is not None]
    return [one.value for one in records if ORIGIN in dict(one.headers)]


def test_a_letter_is_listed_shown_mended_and_sent_once(world: World) -> None:
    async def talk(ask: Ask) -> None:
        listed = (await ask("GET", "/api/dead-letters"))[1]
        assert (listed["reasons"], [one["stream"] for one in listed["letters"]]) == ({"not-json": 1}, ["events"])
        shown = (await ask("GET", LETTER))[1]
        assert (shown["value"], shown["key"], shown["headers"]) == (BROKEN.decode(), "IBM", {"trace": "7"})
        assert shown["shown"].endswith("^")
        status, refused = await ask("POST", LETTER + "/send-again", {})
        assert (status, refused["error"]["kind"]) == (409, "refused")
        mended = {"value": BROKEN.decode() + "}", "set": {"price": 2}}
        tried = (await ask("POST", LETTER + "/send-again", {**mended, "dry_run": True}))[1]
        assert (tried["sent"], tried["key"]) == (False, "IBM")
        assert sent(world) == []
        assert (await ask("POST", LETTER + "/send-again", mended))[1]["sent"] is True
        status, refused = await ask("POST", LETTER + "/send-again", mended)
        assert (status, refused["error"]["kind"]) == (409, "sent")
        assert (await ask("POST", LETTER + "/send-again", {**mended, "again": True}))[0] == 200
        (one,) = (await ask("GET", "/api/dead-letters"))[1]["letters"]
        assert [attempt["done"] for attempt in one["sent"]] == [True, True]

    world.run(talk)
    assert sent(world) == [b'{"type":"Stock","ts":9,"price":2}'] * 2


def test_a_letter_too_far_back_is_refused_with_the_way_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    write_letter(world.log, TOPICS, 0, BROKEN, "not-json", "not JSON: unexpected end of data")
    monkeypatch.setattr("saffron.control.dead_letters_api._MOST_LOOKED_AT", 1)

    async def talk(ask: Ask) -> None:
        status, refused = await ask("GET", LETTER)
        assert (status, refused["error"]["kind"]) == (404, "unknown")
        assert "`saffron dlq show`" in refused["error"]["text"]
        assert (await ask("GET", LETTER.removesuffix("0") + "1"))[0] == 200

    world.run(talk)


def test_a_late_one_is_refused_with_the_way_out(world: World) -> None:
    write_block(world.log, TOPICS, 0, [BROKEN.replace(b"9", b"10") + b"}"])

    async def talk(ask: Ask) -> None:
        status, refused = await ask("POST", LETTER + "/send-again", {"value": BROKEN.decode() + "}"})
        assert (status, refused["error"]["kind"]) == (409, "late")
        assert "saffron replay" in refused["error"]["message"]

    world.run(talk)
    assert sent(world) == []


@pytest.mark.parametrize(
    "body",
    [
        {"set": []},
        {"unset": "price"},
        {"unset": [1]},
        {"value": "x", "encoding": "latin-1"},
        {"value": "%", "encoding": "base64"},
        {"again": "yes"},
        {"sure": True},
        {"set": {"price": 1}},
    ],
)
def test_wrong_mendings_are_explained(world: World, body: Any) -> None:
    async def talk(ask: Ask) -> None:
        status, found = await ask("POST", LETTER + "/send-again", body)
        assert (status, found["error"]["kind"]) == (400, "mend" if body == {"set": {"price": 1}} else "body")

    world.run(talk)
    assert sent(world) == []
