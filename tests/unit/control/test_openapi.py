"""The description is a right one, of all routes and no others, and every answer that it has can be had."""

from __future__ import annotations

import copy
import io
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from aiohttp import web
from openapi_spec_validator import OpenAPIV31SpecValidator

from saffron.control.openapi import document
from saffron.engine.windows.dead_letters import REASONS
from saffron.errors import UnavailableError
from saffron.language.cost.shedders import SHEDDERS
from saffron.records.query import QueryRecord
from saffron.records.stream import StreamRecord
from saffron.runtime.results.large_results import REASON as TOO_LARGE
from saffron.runtime.telemetry.health import Health
from tests.unit.control.described import operations
from tests.unit.control.streams.shop import DEFINITION, PAID, with_applied_shop, with_shop
from tests.unit.control.world import TEXT, TOPICS, Ask, World, add
from tests.unit.runtime.written import write_block, write_letter, write_result_letter

OPERATIONS = {one["operationId"]: (method.upper(), path, one) for method, path, one in operations()}
GUARDED = {name: parts for name, parts in OPERATIONS.items() if parts[1].startswith("/api/")}
EVENT = b'{"type":"Stock","ts":1,"symbol":"IBM","price":2}'
ONE = "/api/queries/rally"
LETTERS = "/api/dead-letters"


def test_it_is_a_right_description() -> None:
    OpenAPIV31SpecValidator(copy.deepcopy(document())).validate()
    assert len(OPERATIONS) == sum(1 for _ in operations()), "operations have names of their own"


def test_it_has_every_route_and_no_other() -> None:
    routes = {(one.method.lower(), one.path) for one in World().routes() if isinstance(one, web.RouteDef)}
    assert routes == {(method, path) for method, path, _ in operations()}


def test_lists_in_it_are_those_of_the_code() -> None:
    schemas = document()["components"]["schemas"]
    assert set(schemas["Reason"]["enum"]) == {*REASONS, TOO_LARGE}
    assert set(schemas["Shed"]["enum"]) == set(SHEDDERS)


# ---------------------------------------------------------------- every answer


def with_query(world: World) -> None:
    add(world.tables, "rally")


def with_wrong_query(world: World) -> None:
    add(world.tables, "rally", text="PATTERN")


def with_events(world: World) -> None:
    with_query(world)
    write_block(world.log, TOPICS, 0, [EVENT, EVENT])


def with_letter(world: World) -> None:
    write_letter(world.log, TOPICS, 0, EVENT, "schema", "attribute 'price' of type Stock should be text, and is 2")


def with_result(world: World) -> None:
    write_result_letter(world.log, TOPICS, 0, "rally")


def with_letter_of_nobody(world: World) -> None:
    with_letter(world)
    row = {"name": "events", "topic": "p.other", "key": None, "schema": None, "disorder": None, "idle": None}
    world.tables.apply(TOPICS.streams, b"events", orjson.dumps(row), 5)


def with_lost_topic(world: World) -> None:
    with_query(world)
    with_letter_of_nobody(world)


def with_rivals(world: World) -> None:
    with_query(world)
    versions = itertools.count(2)

    def write() -> None:
        world.write(TOPICS.queries, "rally", QueryRecord("rally", next(versions), "add", TEXT).encode())

    world.before_send = write


def with_stream(world: World) -> None:
    world.tables.apply(TOPICS.streams, b"trades", StreamRecord("trades", TOPICS.events, "symbol").encode(), 5)


def with_stream_of_it(world: World) -> None:
    with_stream(world)
    made = StreamRecord("by_x", "p.by_x", "x", source="trades")
    world.tables.apply(TOPICS.streams, b"by_x", made.encode(), 6)


def with_stream_and_no_broker(world: World) -> None:
    with_stream(world)
    without_broker(world)


def without_broker(world: World) -> None:
    with_query(world)
    world.down = True
    for operation in ("metadata", "watermarks"):
        world.log.inject(operation, UnavailableError("no broker answers"), after=False)


def with_shop_and_no_broker(world: World) -> None:
    with_shop(world)
    without_broker(world)


def dead(world: World) -> None:
    times = iter([0.0])
    world.health = Health("control", lambda: next(times, 1e9))


def ready(world: World) -> None:
    world.health.done("start")


@dataclass(frozen=True)
class Case:
    """A request that is answered so."""

    operation: str
    status: int
    path: str = ""
    body: Any = None
    setup: Callable[[World], None] = with_query


NEW = {"text": TEXT}
STREAM = "/api/streams/trades"
SHOP = {"definition": DEFINITION}
TRY = {**SHOP, "query": PAID}
ASK = {**TRY, "ask": "order_id=O-1"}
INFER = {"topics": ["orders", "payments"], "name": "shop"}
OWN = "stream: s\nsources: [{topic: p.trends}]"
CASES = [
    Case("listQueries", 200),
    Case("addQuery", 201, body={**NEW, "from": "earliest", "shed": "none"}, setup=ready),
    Case("addQuery", 400, body={"text": "PATTERN"}),
    Case("addQuery", 409, body=NEW),
    Case("addQuery", 503, body={"text": TEXT.replace("rally", "other")}, setup=without_broker),
    Case("showQuery", 200, ONE),
    Case("showQuery", 200, ONE, setup=with_wrong_query),
    Case("showQuery", 404, "/api/queries/other"),
    Case("replaceQuery", 200, ONE, NEW),
    Case("replaceQuery", 400, ONE, {"text": ""}),
    Case("replaceQuery", 404, "/api/queries/other", NEW),
    Case("replaceQuery", 409, ONE, NEW, with_lost_topic),
    Case("replaceQuery", 503, ONE, NEW, without_broker),
    Case("removeQuery", 200, ONE),
    Case("removeQuery", 404, "/api/queries/other"),
    Case("removeQuery", 503, ONE, setup=without_broker),
    *(
        Case(f"{op}Query", status, f"/api/queries/{name}/{op}", setup=setup)
        for op in ("pause", "resume")
        for status, name, setup in (
            (200, "rally", with_query),
            (404, "other", ready),
            (409, "rally", with_rivals),
            (503, "rally", without_broker),
        )
    ),
    Case("listVersions", 200, ONE + "/versions"),
    Case("listVersions", 404, "/api/queries/other/versions"),
    Case("why", 200, ONE + "/why?ask=symbol=IBM", setup=with_events),
    Case("why", 400, ONE + "/why"),
    Case("why", 404, ONE + "/why?ask=symbol=IBM"),
    Case("why", 503, ONE + "/why?ask=symbol=IBM", setup=without_broker),
    Case("checkQuery", 200, body={**NEW, "name": "rally"}),
    Case("checkQuery", 400, body={"text": "PATTERN"}),
    Case("checkQuery", 409, body=NEW, setup=with_lost_topic),
    Case("checkQuery", 503, body=NEW, setup=without_broker),
    Case("listDeadLetters", 200, LETTERS + "?reason=schema&stream=events&count=5", setup=with_letter),
    Case("listDeadLetters", 400, LETTERS + "?stream=nowhere"),
    Case("listDeadLetters", 503, setup=without_broker),
    Case("showDeadLetter", 200, LETTERS + "/events/0/0", setup=with_letter),
    Case("showDeadLetter", 200, LETTERS + "/admitted/0/4.1", setup=with_result),
    Case("showDeadLetter", 404, LETTERS + "/events/0/0"),
    Case("showDeadLetter", 503, LETTERS + "/events/0/0", setup=without_broker),
    Case("sendDeadLetterAgain", 200, LETTERS + "/events/0/0/send-again", {"set": {"price": 3}}, with_letter),
    Case("sendDeadLetterAgain", 400, LETTERS + "/events/0/0/send-again", {"value": 3}, with_letter),
    Case("sendDeadLetterAgain", 404, LETTERS + "/events/0/0/send-again", {}),
    Case("sendDeadLetterAgain", 409, LETTERS + "/events/0/0/send-again", {}, with_letter_of_nobody),
    Case("sendDeadLetterAgain", 409, LETTERS + "/admitted/0/4.1/send-again", {}, with_result),
    Case("sendDeadLetterAgain", 503, LETTERS + "/events/0/0/send-again", {}, without_broker),
    Case("addStream", 200, body={"name": "events", "idle": 5}),
    Case("addStream", 201, body={"name": "trades", "partitions": 1}),
    Case("addStream", 400, body={"name": "a.b"}),
    Case("addStream", 404, body={"name": "trades", "from": "nobody", "key": "x"}),
    Case("addStream", 409, body={"name": "trades", "topic": "p.trends"}),
    Case("addStream", 503, body={"name": "trades", "partitions": 1}, setup=without_broker),
    Case("showStream", 200, "/api/streams/shop", setup=with_applied_shop),
    Case("showStream", 404, STREAM),
    Case("showStream", 503, STREAM, setup=with_stream_and_no_broker),
    Case("listTopics", 200, setup=with_shop),
    Case("listTopics", 503, setup=with_shop_and_no_broker),
    Case("listMessages", 200, "/api/topics/orders/messages?count=3", setup=with_shop),
    Case("listMessages", 400, "/api/topics/orders/messages?count=x", setup=with_shop),
    Case("listMessages", 404, "/api/topics/nowhere/messages"),
    Case("listMessages", 409, "/api/topics/p.trends/messages"),
    Case("listMessages", 503, "/api/topics/orders/messages", setup=with_shop_and_no_broker),
    Case("applyDefinition", 200, body=SHOP, setup=with_applied_shop),
    Case("applyDefinition", 201, body=SHOP, setup=with_shop),
    Case("applyDefinition", 400, body={"definition": "stream: a b"}),
    Case("applyDefinition", 409, body=SHOP),
    Case("applyDefinition", 503, body=SHOP, setup=with_shop_and_no_broker),
    Case("inferDefinition", 200, body=INFER, setup=with_shop),
    Case("inferDefinition", 400, body={**INFER, "name": "a b"}, setup=with_shop),
    Case("inferDefinition", 404, body=INFER),
    Case("inferDefinition", 409, body={**INFER, "topics": ["p.trends"]}),
    Case("inferDefinition", 503, body=INFER, setup=with_shop_and_no_broker),
    Case("checkDefinition", 200, body=SHOP, setup=with_shop),
    Case("checkDefinition", 400, body={**SHOP, "messages": 0}, setup=with_shop),
    Case("checkDefinition", 404, body=SHOP),
    Case("checkDefinition", 409, body={"definition": OWN}),
    Case("checkDefinition", 503, body=SHOP, setup=with_shop_and_no_broker),
    Case("tryQuery", 200, body=TRY, setup=with_shop),
    Case("tryQuery", 400, body={**TRY, "query": "PATTERN"}, setup=with_shop),
    Case("tryQuery", 404, body=TRY),
    Case("tryQuery", 409, body={**TRY, "definition": OWN}),
    Case("tryQuery", 503, body=TRY, setup=with_shop_and_no_broker),
    Case("whyTried", 200, body=ASK, setup=with_shop),
    Case("whyTried", 400, body={**ASK, "ask": ""}, setup=with_shop),
    Case("whyTried", 404, body=ASK),
    Case("whyTried", 409, body={**ASK, "definition": OWN}),
    Case("whyTried", 503, body=ASK, setup=with_shop_and_no_broker),
    Case("setStream", 200, STREAM, {"idle": 0, "disorder": 5}, with_stream),
    Case("setStream", 400, STREAM, {"idle": "5s"}, with_stream),
    Case("setStream", 404, STREAM, {"idle": 5}),
    Case("setStream", 409, STREAM, {"key": "sector"}, with_stream),
    Case("setStream", 503, STREAM, {"idle": 5}, with_stream_and_no_broker),
    Case("removeStream", 200, STREAM, setup=with_stream),
    Case("removeStream", 404, STREAM),
    Case("removeStream", 409, STREAM, setup=with_stream_of_it),
    Case("removeStream", 503, STREAM, setup=with_stream_and_no_broker),
    *(Case(name, 200) for name in ("listStreams", "listModels", "listLoad", "listResults", "live")),
    Case("listResults", 400, "/api/results?count=x"),
    Case("listResults", 503, setup=without_broker),
    *(Case(name, status, setup=setup) for name in ("healthz",) for status, setup in ((200, ready), (503, dead))),
    *(Case("readyz", status, setup=setup) for status, setup in ((200, ready), (503, with_query))),
    *(
        Case(name, 200)
        for name in (
            "openapi",
            "page",
            "topicsPage",
            "apiDocs",
            "style",
            "commonScript",
            "pageScript",
            "topicsScript",
            "apiScript",
        )
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operation}-{case.status}")
def test_every_answer_can_be_had(case: Case) -> None:
    world = World()
    case.setup(world)
    method, path, _ = OPERATIONS[case.operation]

    async def talk(ask: Ask) -> None:
        status, found = await ask(method, case.path or path, case.body)
        assert status == case.status, found

    world.run(talk)


def test_the_cases_above_are_all_that_is_described() -> None:
    everywhere = {"default", "401", "403", "413", "415"}
    described = {(name, status) for name, (_, _, one) in OPERATIONS.items() for status in one["responses"]}
    cases = {(case.operation, str(case.status)) for case in CASES}
    assert cases == {(name, status) for name, status in described if status not in everywhere}


def test_a_token_and_a_known_host_are_asked_for_everywhere_under_api() -> None:
    async def talk(ask: Ask) -> None:
        for method, path, _ in GUARDED.values():
            assert (await ask(method, filled(path)))[0] == 401
            assert (await ask(method, filled(path), headers={"Host": "evil.example"}))[0] == 403

    World(token="secret").run(talk)
    assert all({"401", "403"} <= set(one["responses"]) for _, _, one in GUARDED.values())
    open_to_all = [one for name, (_, _, one) in OPERATIONS.items() if name not in GUARDED]
    assert all(one["security"] == [{}] for one in open_to_all)


def test_bodies_are_json_and_not_too_large() -> None:
    world = World()
    with_query(world)
    with_letter(world)
    taking = {name: parts for name, parts in OPERATIONS.items() if "requestBody" in parts[2]}

    async def talk(ask: Ask) -> None:
        for method, path, _ in taking.values():
            assert (await ask(method, filled(path), data=b"{}"))[0] == 415
            huge = {"data": io.BytesIO(b"x" * 2_000_000), "headers": {"Content-Type": "application/json"}}
            assert (await ask(method, filled(path), **huge))[0] == 413

    world.run(talk)
    assert taking.keys() == {name for name, (_, _, one) in OPERATIONS.items() if "415" in one["responses"]}


def filled(
    path: str, values: Mapping[str, str] = {"name": "rally", "topic": "events", "partition": "0", "offset": "0"}
) -> str:
    return path.format(**values)
