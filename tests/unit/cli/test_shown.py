"""What is printed: results in words, messages as lines, tables, numbers from metrics pages."""

from __future__ import annotations

import math

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families

from saffron.cli import console
from saffron.cli.streams.tail import line
from saffron.cli.system.demo_screen import Screen, describe
from saffron.cli.system.scrape import Page
from saffron.runtime.log import Record
from saffron.runtime.result_formats.forms import codec, dataschema
from saffron.runtime.telemetry.metric_names import DETECTION_LATENCY
from saffron.runtime.telemetry.metrics import Metrics

RALLY = {
    "query": "rally",
    "key": {"symbol": "IBM"},
    "start": 1150378200000,
    "end": 1150381560000,
    "return": {"symbol": "IBM", "steps": 4, "first": 77.8, "top": 80.0, "fall": 78.0},
}
TREND = {
    "query": "downtrends",
    "window": [1150378200000, 1150378800000],
    "group": {"sector": "Energy"},
    "return": {"COUNT(*)": 1234},
}


def test_results_in_words() -> None:
    rally = "rally IBM 4 quotes up from 77.80 to 80.00, then 78.00 (-2.5 %) 2006-06-15 13:30 to 14:26 UTC"
    trend = "downtrends Energy 1,234 down-trends 2006-06-15 13:30 to 13:40 UTC"
    assert " ".join(describe(RALLY).split()) == rally
    assert " ".join(describe(TREND).split()) == trend
    assert describe({"query": "mine", "return": {"x": 1}}) == "mine       {'x': 1}"


def test_the_screen_counts_all_and_prints_some(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(100)
    for _ in range(50):
        screen.take(RALLY)
        screen.take(TREND)
    assert screen.results == {"rally": 50, "downtrends": 50}
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (b'{"a":1}', b'{"a":1}'),
        (None, {"topic": "t", "partition": 1, "offset": 7, "key": "k", "value": None}),
        (b"text", {"topic": "t", "partition": 1, "offset": 7, "key": "k", "value": "text"}),
        (b"\xff", {"topic": "t", "partition": 1, "offset": 7, "key": "k", "value": {"base64": "/w=="}}),
    ],
)
def test_every_message_is_one_json_line(value: bytes | None, shown: object) -> None:
    found = line(Record("t", 1, 7, 0, b"k", value))
    assert found == shown or orjson.loads(found) == shown
    assert b"\n" not in found


def test_results_in_a_registrys_frame_are_shown_as_json() -> None:
    result = {"id": "0" * 32, "partition": 0, "exact": True, "detected_at": 7, **TREND}
    value = b"\0\0\0\0\1" + codec("avro", "trends").payload(orjson.dumps(result))
    headers = (("content-type", b"application/avro"), ("ce_dataschema", dataschema("trends")))
    assert orjson.loads(line(Record("t", 1, 7, 0, b"k", value, headers))) == result
    assert orjson.loads(line(Record("t", 1, 7, 0, b"k", value)))["offset"] == 7


def test_a_table_is_plain_text_that_tools_can_cut(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(("name", "n"), [("a", 1), ("long one", 22)])
    assert capsys.readouterr().out == "name      n\na         1\nlong one  22\n"
    console.print_table(("name", "n"), [])
    assert capsys.readouterr().out == "name  n\n"


def test_a_row_of_a_table_is_a_line_whatever_names_messages_have(capsys: pytest.CaptureFixture[str]) -> None:
    console.print_table(("name", "n"), [("a\nb\x1b[31m", 1), ("日本", 2), ("e\u0301", 3)])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["name      n", "a\ufffdb\ufffd[31m  1", "日本      2", "e\u0301         3"]


def test_quantiles_from_a_metrics_page_are_those_of_the_service() -> None:
    import numpy as np

    metrics = Metrics()
    metrics.observe(DETECTION_LATENCY, np.random.default_rng(3).exponential(20.0, 5000), "rally")
    metrics.observe(DETECTION_LATENCY, np.full(9, 1e9), "other")
    families = text_string_to_metric_families(metrics.text().decode())
    page = Page([one for family in families for one in family.samples])
    name = DETECTION_LATENCY.name
    assert page.total(f"{name}_count", query="rally") == 5000
    for share in (0.5, 0.99):
        found = page.quantile_ms(name, share, query="rally")
        exact = float(np.quantile(np.random.default_rng(3).exponential(20.0, 5000), share))
        assert exact / 2 <= found <= exact * 2
    assert math.isinf(page.quantile_ms(name, 0.5, query="other"))
    assert math.isnan(page.quantile_ms(name, 0.5, query="none"))
