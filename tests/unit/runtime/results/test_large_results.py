"""What stands in place of a result that is too large: where it is, and what to do."""

from __future__ import annotations

from typing import Any

import orjson

from saffron.runtime.log import TopicPartition
from saffron.runtime.results.large_results import LargeResult

WHERE = TopicPartition("t.admitted", 3)
ID = "0123456789abcdef" * 2


def letter(body: dict[str, Any]) -> dict[str, Any]:
    text = orjson.dumps({"id": ID, "query": "q", "partition": 3, **body})
    found = LargeResult(WHERE, 17, 2, "q", ID, 5_000, len(text), text)
    assert found.key == b"t.admitted/3/17.2"
    row: dict[str, Any] = orjson.loads(found.letter(1_000))
    assert (row["topic"], row["partition"], row["offset"], row["timestamp"]) == ("t.admitted", 3, 17, 5_000)
    assert (row["reason"], row["value"]) == ("result-too-large", None)
    assert (row["result"]["query"], row["result"]["limit"]) == ("q", 1_000)
    assert f"result {ID} of query q has {row['result']['bytes']} bytes, more than the 1000" in row["detail"]
    return row


def event(seq: int, **attributes: Any) -> dict[str, Any]:
    return {"seq": seq, "ts": 100 * seq, "type": "A", **attributes}


def test_a_match_says_where_its_events_are_whatever_stands_in_them() -> None:
    lies = '},"start":7,"end":8,"window":null {"seq":99,"ts":1}'
    events = {"b": event(9, text=lies), "a": [event(4), event(6)]}
    key = {"start": 1, "end": 2, "text": lies}
    row = letter({"key": key, "start": 400, "end": 900, "window": [0, 5_000], "events": events, "return": {}})
    found = row["result"]
    assert (found["first"], found["last"]) == ({"seq": 4, "ts": 400}, {"seq": 9, "ts": 900})
    assert found["window"] == [0, 5_000]
    assert "its 3 events reach from seq 4 (ts 400) to seq 9 (ts 900)" in row["detail"]
    assert "WITHIN" in row["detail"]


def test_times_that_are_imprecise_and_matches_without_a_window() -> None:
    events = {"a": {"seq": 4, "ts": [380, 420], "type": "A"}}
    found = letter({"key": {}, "start": 380, "end": 420, "window": None, "events": events})["result"]
    assert (found["first"], found["last"], found["window"]) == ({"seq": 4, "ts": 380}, {"seq": 4, "ts": 420}, None)


def test_a_graph_of_matches_names_no_single_event() -> None:
    found = letter({"key": {}, "start": 1, "end": 9, "window": None, "count": 3, "nodes": [["a", 4, [-1]]]})["result"]
    assert (found["first"], found["last"]) == ({"ts": 1}, {"ts": 9})


def test_a_trend_says_its_window() -> None:
    row = letter({"window": [0, 4_000], "group": {"sector": "x"}, "return": {"COUNT(*)": 5}, "exact": True})
    assert row["result"]["window"] == [0, 4_000]
    assert "its window is [0,4000]" in row["detail"]
    assert "GROUP BY" in row["detail"]
