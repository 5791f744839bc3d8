"""The doctor on merged streams: each fault of a source is named, with its place and fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from prometheus_client.samples import Sample

from saffron.cli.checks.cluster.look import Look
from saffron.cli.checks.cluster.merged import check_merged
from saffron.cli.checks.cluster.schemas import check_losses, check_times
from saffron.cli.system.routes import RouteLine, Routes, routes_of, waiting_sentences
from saffron.cli.system.scrape import Page
from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.log.inspect import TopicFacts
from tests.unit.cli.checks.sound import bad, digests, sound

IDLE = "stream: shop\nidle: 10s\nsources:\n- topic: orders\n- topic: payments\n"


EXPLODED = IDLE.replace("- topic: orders\n", "- topic: orders\n  explode: lines\n  where: op = 1\n")
UNREAD = {"payments": TopicFacts((), {}, frozenset({"DESCRIBE"}))}
FILLED = {"orders": 5, "payments": 7}
NO_ROUTES = Routes()


def shop(text: str = IDLE, filled: Mapping[str, int] = FILLED, routes: Routes = NO_ROUTES) -> Look:
    """A sound system with a merged stream."""
    applied = AppliedDefinition(text, {"orders": 0, "payments": 1}, 1)
    record = StreamRecord("shop", "saffron.shop", definition=applied)
    look = sound()
    return replace(look, streams={**look.streams, "shop": record}, sources_filled=filled, routes=routes)


def test_sound_sources_give_no_finding() -> None:
    (found,) = check_merged(shop())
    assert (found.state, found.what) == ("ok", "2 topics have messages")


@pytest.mark.parametrize(
    ("look", "where", "what"),
    [
        (shop(filled={"orders": 5}), "stream shop, source payments", "does not exist"),
        (
            replace(shop(filled={}), denied=frozenset(["orders"])),
            "stream shop, source orders",
            "ANONYMOUS may not see it",
        ),
        (replace(shop(), foreign=UNREAD), "stream shop, source payments", "ANONYMOUS may not read it"),
        (shop(filled={"orders": 5, "payments": 0}), "stream shop, source payments", "has no messages"),
        (shop(IDLE.replace("idle: 10s\n", "")), "stream shop, source orders", "no idle bound"),
        (shop(routes=Routes([RouteLine("shop", "orders", 5, 0, 3)])), "stream shop, source orders", "3 values"),
        (
            shop(EXPLODED, routes=Routes([RouteLine("shop", "orders", filtered=2, without_array=3)])),
            "stream shop, source orders",
            "2 left out by `where: op = 1`; 3 messages have no 'lines'",
        ),
        (shop(routes=Routes([], {("shop", "topic"): 1})), "windowing", "a topic that is missing"),
    ],
)
def test_each_fault_is_named(look: Look, where: str, what: str) -> None:
    found = [one for one in bad(check_merged(look)) if one.where == where]
    assert [one for one in found if what in one.what and one.fix], found


def test_a_source_that_gives_events_may_have_messages_without_the_array() -> None:
    assert not bad(check_merged(shop(EXPLODED, routes=Routes([RouteLine("shop", "orders", 5, without_array=3)]))))


def test_a_source_of_one_partition_alone_needs_no_idle_bound() -> None:
    look = shop("stream: shop\nsources:\n- topic: orders\n")
    for partitions in (1, 2):
        facts = TopicFacts(look.topics["saffron.events"].partitions[:1] * partitions, {}, None)
        found = [one.what for one in bad(check_merged(replace(look, foreign={"orders": facts})))]
        assert [what.partition(":")[0] for what in found] == ["it has no idle bound"] * (partitions - 1)


def test_event_time_that_has_not_begun_is_named() -> None:
    look = shop()
    still = replace(digests("windowing", 0)[-1], stream="shop", watermark=None)
    (found,) = bad(check_merged(replace(look, digests=(*look.digests, still))))
    assert (found.where, found.what.partition(":")[0]) == ("stream shop", "event time has not begun")
    moving = replace(still, watermark=5)
    assert bad(check_merged(replace(look, digests=(*look.digests, moving)))) == []


def test_values_that_are_null_are_mended_in_the_definition() -> None:
    look = shop()
    mistyped = replace(digests("windowing", 0)[-1], stream="shop", mistyped={"total": 3})
    (found,) = bad(check_losses(replace(look, digests=(*look.digests, mistyped))))
    assert found.fix.endswith("saffron stream show shop --definition")


def test_times_in_seconds_are_mended_in_the_definition() -> None:
    look = shop()
    wrong = replace(digests("windowing", 0)[-1], stream="shop", in_seconds=3)
    (found,) = bad(check_times(replace(look, digests=(*look.digests, wrong))))
    assert found.fix.startswith("saffron stream check FILE")


def test_routes_are_added_up_by_source() -> None:
    def sample(name: str, value: float, **labels: str) -> Sample:
        return Sample(name, labels, value)

    page = Page(
        [
            sample("saffron_routed_events_total", 5, stream="shop", partition="orders/0"),
            sample("saffron_routed_events_total", 6, stream="shop", partition="orders/1"),
            sample("saffron_routed_events_total", 9, stream="by_x", partition="0"),
            sample("saffron_route_lag", 2, stream="shop", partition="orders/1"),
            sample("saffron_mistyped_values_total", 4, stream="shop", partition="orders/1"),
            sample("saffron_filtered_messages_total", 1, stream="shop", partition="orders/1"),
            sample("saffron_messages_without_array_total", 7, stream="shop", partition="orders/0"),
            sample("saffron_mistyped_values_total", 8, stream="shop", partition="0"),
            sample("saffron_routes_waiting", 1, stream="shop", reason="registry"),
            sample("saffron_routes_waiting", 0, stream="shop", reason="topic"),
            sample("saffron_routes_waiting", 2, stream="shop", reason="table"),
            sample("saffron_table_rows", 1_000, stream="shop", table="customers"),
            sample("saffron_table_bytes", 200_000, stream="shop", table="customers"),
            sample("saffron_table_bad_rows", 3, stream="shop", table="customers"),
        ]
    )
    found = routes_of(page)
    assert found.lines == [RouteLine("by_x", "", 9), RouteLine("shop", "orders", 11, 2, 4, 1, 7)]
    assert waiting_sentences(found) == [
        "stream shop: source partitions that wait for the schema registry: 1",
        "stream shop: source partitions that wait until a table is loaded: 2",
    ]
    assert list(map(str, found.tables)) == [
        "stream shop: table customers has 1,000 rows in 0.2 MB; 3 could not be read (windowing's log says why)"
    ]
