"""`saffron.replay`: every form of events gives the same results; they are lazy, counted, and tell what was lost."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import saffron
from saffron.api import source
from saffron.api.results import Results
from saffron.errors import InputError, QueryError, SaffronError
from saffron.schema.functions import own
from tests.unit.api.samples import EVENTS, MATCHES, SCHEMA, TRENDS


def _twice() -> pa.Array[Any]:
    """A column of structs with two fields of one name."""
    fields = [pa.field("x", pa.int64())] * 2
    return pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], fields=fields)


def ids(results: Results) -> list[str]:
    return [one.id for one in results]


@pytest.fixture(scope="module")
def expected() -> list[str]:
    found = ids(saffron.replay(MATCHES, EVENTS))
    assert len(found) == 2
    return found


def test_import_is_fast_since_it_loads_nothing() -> None:
    code = "import sys, saffron; print(*(n for n in ('numpy', 'numba', 'orjson') if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_all_that_it_offers_is_there() -> None:
    for name in (
        "compile",
        "replay",
        "open",
        "subscribe",
        "aggregate",
        "Query",
        "Results",
        "Match",
        "Trend",
        "QueryError",
    ):
        assert name in dir(saffron)
        assert getattr(saffron, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        saffron.nothing  # noqa: B018


class TestEventsFromAnywhere:
    def test_files(self, tmp_path: Path, expected: list[str]) -> None:
        lines = tmp_path / "events.ndjson"
        lines.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in EVENTS))
        table = tmp_path / "events.parquet"
        pq.write_table(pa.Table.from_pylist(EVENTS), table)
        assert ids(saffron.replay(MATCHES, lines)) == expected
        assert ids(saffron.replay(MATCHES, str(table))) == expected

    def test_several_files_are_one_stream(self, tmp_path: Path, expected: list[str]) -> None:
        for name, events in (("a.jsonl", EVENTS[:2]), ("b.jsonl", EVENTS[2:])):
            (tmp_path / name).write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
        assert ids(saffron.replay(MATCHES, [tmp_path / "a.jsonl", tmp_path / "b.jsonl"])) == expected

    def test_tables(self, expected: list[str]) -> None:
        table = pa.Table.from_pylist(EVENTS)
        assert ids(saffron.replay(MATCHES, table)) == expected
        assert ids(saffron.replay(MATCHES, table.to_reader(max_chunksize=2))) == expected

    def test_data_frames_whatever_their_index(self, expected: list[str]) -> None:
        frame = pd.DataFrame(EVENTS)
        assert ids(saffron.replay(MATCHES, frame)) == expected
        assert (
            ids(saffron.replay(MATCHES, frame[frame["n"] > 0].sort_values("n").set_axis([4, 2, 9, 1, 0]))) == expected
        )

    def test_times_of_a_data_frame_may_be_timestamps(self, expected: list[str]) -> None:
        frame = pd.DataFrame(EVENTS)
        frame["ts"] = pd.to_datetime(frame["ts"], unit="ms")
        assert ids(saffron.replay(MATCHES, frame)) == expected

    def test_iterables_of_dicts_with_the_values_people_have(self, expected: list[str]) -> None:
        assert ids(saffron.replay(MATCHES, tuple(EVENTS))) == expected
        assert ids(saffron.replay(MATCHES, (event for event in EVENTS))) == expected
        rich: list[dict[str, Any]] = [
            {
                **e,
                "ts": datetime.fromtimestamp(e["ts"] / 1000, UTC),
                "n": np.int64(e["n"]),
                "x": e["x"] and Decimal(e["x"]),
            }
            for e in EVENTS
        ]
        assert ids(saffron.replay(MATCHES, rich)) == expected
        stamps: list[dict[str, Any]] = [{**e, "ts": pd.Timestamp(e["ts"], unit="ms")} for e in EVENTS]
        assert ids(saffron.replay(MATCHES, stamps)) == expected

    @pytest.mark.parametrize(
        ("events", "said"),
        [
            (7, "events are a int; give a path, an Arrow table, a data frame, or an iterable of dicts"),
            ({"type": "A"}, "events are a dict; give"),
            ([5], "not-json: a int; each event is a dict with 'type' and 'ts'"),
            ([{"type": "A", "ts": 1, "x": object()}], "not-json: attribute 'x' cannot be written as JSON"),
            (pa.table({"ts": [1]}), "the table: has no column 'type'"),
            (
                pa.table([pa.array(["A"]), pa.array([1]), pa.array([2])], names=["type", "x", "x"]),
                "the table has 'x' twice",
            ),
            (pa.table({"type": ["A"], "in": _twice()}), "a struct of the table has 'x' twice"),
            (pd.DataFrame([["A", 1, 2]], columns=["type", "x", "x"]), "the DataFrame has 'x' twice"),
            ("no/such.ndjson", "no/such.ndjson: no such file"),
        ],
    )
    def test_what_is_no_event_is_an_error_that_says_so(self, events: Any, said: str) -> None:
        with pytest.raises(InputError, match=said.replace("(", r"\(")):
            saffron.replay("PATTERN A a WITHIN 1 s", events).counts()

    def test_what_an_iterable_gives_before_it_fails_counts(self, expected: list[str]) -> None:
        def broken() -> Iterator[dict[str, Any]]:
            yield from EVENTS
            raise OSError("the connection is lost")

        found: list[str] = []
        with pytest.raises(OSError, match="the connection is lost"):
            found.extend(one.id for one in saffron.replay(MATCHES, broken(), schema=SCHEMA))
        assert found == expected


class TestResults:
    def test_nothing_runs_until_it_is_asked_for(self) -> None:
        seen = []

        def watched() -> Any:
            for event in EVENTS:
                seen.append(event)
                yield event

        results = saffron.replay(MATCHES, watched())
        assert seen == []
        assert "not run yet" in repr(results)
        assert len(results.head(1)) == 1
        assert len(seen) == len(EVENTS)
        with pytest.raises(InputError, match="were an iterator and have been read"):
            results.counts()

    def test_each_look_runs_the_replay_anew(self, expected: list[str]) -> None:
        results = saffron.replay(MATCHES, EVENTS)
        assert ids(results) == expected == ids(results)
        assert results.counts() == {"peaks": 2}
        assert results.figures["events"] == 5
        assert repr(results) == "<saffron.Results of peaks over a list: 2 from 5 events>"

    def test_a_use_within_another_changes_nothing_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(source, "BATCH_EVENTS", 1)
        bad = {"type": "Fall", "ts": "soon"}
        results = saffron.replay("PATTERN Rise r WITHIN 1 s", [EVENTS[0], bad, EVENTS[1], bad], schema=SCHEMA)
        with pytest.warns(UserWarning, match="2 events were bad or late; the first: event 1: bad-ts"):
            assert [len(results.head(1)) for _ in results] == [1, 1]

    def test_several_queries_run_over_one_reading(self) -> None:
        results = saffron.replay([MATCHES, TRENDS, "PATTERN Fall f WITHIN 1 s"], EVENTS)
        assert results.names == ("peaks", "counted", "query3")
        assert results.counts() == {"peaks": 2, "counted": 2, "query3": 2}
        assert {type(one) for one in results} == {saffron.Match, saffron.Trend}

    def test_the_lines_are_those_of_the_command(self) -> None:
        results = saffron.replay(MATCHES, EVENTS)
        assert [orjson.loads(line) for line in results.lines()] == [one.to_dict() for one in results]

    def test_what_was_bad_or_late_is_told(self) -> None:
        events = [*EVENTS, {"type": "Fall", "ts": 10}, {"ts": "never"}]
        results = saffron.replay(MATCHES, events)
        with pytest.warns(UserWarning, match="2 events were bad or late; the first: event "):
            assert len(list(results)) == 2
        assert {letter.offset for letter in results.dead_letters} == {5, 6}
        shuffled = saffron.replay(MATCHES, EVENTS[::-1], disorder=timedelta(seconds=10))
        assert shuffled.counts() == {"peaks": 2}

    @pytest.mark.parametrize("value", [2**64 - 1, [2**64 - 1], float("inf"), pa.scalar(2**64 - 1, pa.uint64())])
    def test_values_that_are_not_kept_are_warned_of(self, value: Any) -> None:
        is_scalar = isinstance(value, pa.Scalar)
        row: dict[str, Any] = {"type": "A", "ts": 1, "x": value}
        events = (
            pa.table({"type": ["A"], "ts": [1], "x": pa.array([value.as_py()], value.type)}) if is_scalar else [row]
        )
        with pytest.warns(UserWarning, match="values are left out and null: 1 of 'x'"):
            list(saffron.replay("PATTERN A a WITHIN 1 ms", events))

    def test_a_query_that_can_grow_exponentially_is_warned_of_before_it_runs(self) -> None:
        with pytest.warns(UserWarning, match="exponentially"):
            results = saffron.replay("PATTERN Rise+ a[] WHERE skip-till-any-match WITHIN 5 s", EVENTS)
        assert results.counts() == {"query": 7}

    def test_partitions_need_their_key(self) -> None:
        assert saffron.replay(MATCHES, EVENTS, partitions=4, key="user").counts() == {"peaks": 2}
        with pytest.raises(InputError, match="partitions and key go together"):
            saffron.replay(MATCHES, EVENTS, partitions=4)

    @pytest.mark.parametrize("partitions", [0, -1, 1.5, "2", None])
    def test_partitions_are_a_whole_number(self, partitions: Any) -> None:
        with pytest.raises(InputError, match=r"partitions is .*: it should be a whole number from 1 on"):
            saffron.replay(MATCHES, EVENTS, partitions=partitions, key="user")

    @pytest.mark.parametrize("query", [None, 5, b"PATTERN A a WITHIN 1 s", [None], [MATCHES, 5]])
    def test_what_is_no_query(self, query: Any) -> None:
        for take in (saffron.compile, lambda one: saffron.replay(one, EVENTS), saffron.open):
            with pytest.raises(InputError, match="a query is a "):
                take(query)

    def test_what_is_no_schema(self) -> None:
        with pytest.raises(InputError, match="a schema is a int"):
            saffron.replay(MATCHES, EVENTS, schema=5)  # type: ignore[arg-type]

    @pytest.mark.filterwarnings("ignore:query warning")
    def test_a_query_that_was_compiled_lenient_stays_so(self) -> None:
        query = saffron.compile("PATTERN Rise a WHERE a.y = 1 OR a.n > 2 WITHIN 1 s", SCHEMA, lenient=True)
        assert saffron.replay(query, EVENTS).counts() == {"query": 1}
        assert saffron.replay(["PATTERN Fall f WITHIN 1 s", query], EVENTS).counts() == {"query1": 2, "query": 1}
        with saffron.open(query) as live:
            assert len(live.feed(EVENTS)) == 1

    def test_wrong_queries_are_said_at_once_and_misfits_when_events_are_read(self) -> None:
        with pytest.raises(QueryError, match="LINE 1"):
            saffron.replay("PATERN A", EVENTS)
        with pytest.raises(InputError, match="no query"):
            saffron.replay([], EVENTS)
        results = saffron.replay("PATTERN Rize a WITHIN 1 s", EVENTS)
        with pytest.raises(QueryError, match="Did you mean 'Rise'"):
            results.counts()

    def test_an_empty_input_is_said_to_be_empty(self) -> None:
        with pytest.raises(QueryError, match=r"The input is empty.*lenient=True"):
            saffron.replay("PATTERN A a WITHIN 1 s", []).counts()
        with pytest.warns(UserWarning, match="unknown event type 'A'"):
            assert saffron.replay("PATTERN A a WITHIN 1 s", [], lenient=True).counts() == {"query": 0}

    def test_a_key_that_no_event_has_is_warned_of(self) -> None:
        with pytest.warns(UserWarning, match="no event has the key 'user_id': all are in one partition"):
            saffron.replay("PATTERN Fall f WITHIN 1 s", EVENTS, partitions=2, key="user_id").counts()

    def test_a_compiled_query_brings_its_schema(self) -> None:
        query = saffron.compile(MATCHES, SCHEMA)
        assert saffron.replay(query, EVENTS).counts() == {"peaks": 2}
        with pytest.warns(UserWarning, match="1 event was bad or late"):
            saffron.replay(query, [*EVENTS, {"type": "Fall", "ts": 9001, "n": "five"}]).counts()


class TestTables:
    def test_matches(self) -> None:
        table = saffron.replay(MATCHES, EVENTS).to_arrow()
        assert table.column_names == ["id", "query", "partition", "start", "end", "key", "events", "return"]
        assert table["return"].to_pylist() == [
            {"steps": 2, "total": 4, "gain": 6.0, "up": False, "who": "ann"},
            {"steps": 1, "total": 3, "gain": 0.0, "up": False, "who": "ann"},
        ]
        assert [str(field.type) for field in table.schema.field("return").type] == [
            "int64", "int64", "double", "bool", "string",
        ]  # fmt: skip
        events: dict[str, Any] = table.to_pylist()[0]["events"]
        assert [event["n"] for event in events["a"]] == [1, 3]
        assert events["b"]["ts"] == 4000

    def test_types_do_not_depend_on_there_being_results(self) -> None:
        full = saffron.replay(MATCHES, EVENTS).to_arrow()
        empty = saffron.replay(MATCHES.replace("5 s", "1 ms"), EVENTS).to_arrow()
        assert len(empty) == 0
        assert empty.schema == full.schema

    def test_trends(self) -> None:
        table = saffron.replay(TRENDS, EVENTS).to_arrow()
        assert table.column_names == [
            "id", "query", "partition", "window_start", "window_end", "group", "return", "exact",
        ]  # fmt: skip
        assert sorted((row["group"]["user"], row["return"]["COUNT(*)"]) for row in table.to_pylist()) == [
            ("ann", 3),
            ("bob", 1),
        ]

    def test_a_count_beyond_an_int64_makes_the_column_one_of_decimal_strings(self) -> None:
        events = [{"type": "A", "ts": ts} for ts in range(70)]
        table = saffron.replay("PATTERN A+ RETURN COUNT(*) WITHIN 1 s", events).to_arrow()
        assert table["exact"].to_pylist() == [False]
        assert table["return"].to_pylist() == [{"COUNT(*)": "1.1805916207174113e+21"}]

    def test_windows_are_columns(self) -> None:
        table = saffron.replay("PATTERN Rise a WITHIN 10 s SLIDE 5 s", EVENTS).to_arrow()
        assert {(row["window_start"], row["window_end"]) for row in table.to_pylist()} == {(-5000, 5000), (0, 10000)}

    def test_data_frames_are_flat(self) -> None:
        frame = saffron.replay(MATCHES, EVENTS).to_pandas()
        assert frame["return.steps"].tolist() == [2, 1]
        assert frame["key.user"].tolist()[0] == "ann"
        assert frame["events.b"].tolist()[0]["n"] == 4

    def test_several_queries_have_a_table_each(self) -> None:
        results = saffron.replay([MATCHES, TRENDS], EVENTS)
        assert len(results.to_arrow("counted")) == 2
        with pytest.raises(InputError, match=r"which query\? There are peaks, counted"):
            results.to_arrow()
        with pytest.raises(InputError, match="there is no query 'nope'"):
            results.to_pandas("nope")

    def test_imprecise_times_are_intervals_in_every_form(self) -> None:
        events: list[dict[str, Any]] = [
            {"type": "A", "ts": [0, 10], "x": 1},
            {"type": "A", "ts": 3, "x": 2},
            {"type": "B", "ts": [8, 12], "x": 3},
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # any-match over a closure
            results = saffron.replay("PATTERN SEQ(A a, B b) WHERE skip-till-any-match WITHIN 20 ms", events)
            found = results.to_arrow().to_pylist()
            match = results.head(1)[0]
        assert [row["events"]["b"]["ts"] for row in found] == [[8, 12], [8, 12]]
        assert sorted(row["events"]["a"]["ts"] for row in found) == [[0, 10], [3, 3]]
        assert all(0 < row["confidence"] <= 1 for row in found)
        assert isinstance(match, saffron.Match)
        assert match.confidence is not None
        assert match._repr_html_().count("<circle") == 2
        assert results.why("*").trace.matches == 2


@pytest.mark.parametrize("size", [60, 100, 15_000])
def test_counts_with_exact_are_integers_however_long(size: int) -> None:
    text, events = (
        f"PATTERN A+ WITHIN {size} ms RETURN COUNT(*) AS n EXACT",
        [{"type": "A", "ts": i} for i in range(size)],
    )
    digits = str(Decimal(2**size - 1))
    (found,) = saffron.replay(text, events)
    live = saffron.open(text)
    for one in (found, *live.feed(events), *live.flush()):
        assert isinstance(one, saffron.Trend)
        assert one.returns["n"] == 2**size - 1
        assert digits in repr(one)
        assert digits in one._repr_html_()
    table = saffron.replay(text, events).to_arrow()
    assert [str(row["n"]) for row in table["return"].to_pylist() if row is not None] == [digits]


def test_groups_and_counts_beyond_every_float_go_together() -> None:
    text = """
        PATTERN A+ GROUP BY price WITHIN 1 hour
        RETURN price, COUNT(*) AS n, COUNT(*) * price AS total, price + 1 AS more HAVING COUNT(*) > price
    """
    (found,) = saffron.replay(text, [{"type": "A", "ts": ts, "price": 0.5} for ts in range(4_200)])
    assert isinstance(found, saffron.Trend)
    assert (found.group["price"], found.returns["more"]) == (0.5, 1.5)
    total, count = (Decimal(found.returns[name]) for name in ("total", "n"))
    assert abs(2 * total / count - 1) < Decimal("1e-15")


def test_a_query_that_fails_in_one_partition_takes_nothing_from_the_others_of_any() -> None:
    @saffron.function
    def picky(x: float) -> float:
        if x == 0:
            raise ValueError("no")
        return x

    texts = [
        "QUERY bad PATTERN A a WHERE picky(a.k) > 9 WITHIN 9 ms",
        "QUERY good PATTERN A+ WITHIN 9 ms RETURN COUNT(*) AS n",
    ]
    events = [{"type": "A", "ts": ts, "k": ts % 8} for ts in range(8)]
    try:
        found: list[int] = []
        with pytest.raises(SaffronError, match="picky"):
            found.extend(one.returns["n"] for one in saffron.replay(texts, events, key="k", partitions=4))
    finally:
        own.forget("picky")
    assert sum(found) == sum(one.returns["n"] for one in saffron.replay(texts[1], events, key="k", partitions=4))


@pytest.mark.filterwarnings("ignore:query warning")
def test_a_query_with_more_matches_than_can_be_listed_fails_and_the_others_go_on() -> None:
    texts = [
        "QUERY many PATTERN SEQ(A a, A+ b[]) WHERE skip-till-any-match WITHIN 1 s",
        "QUERY few PATTERN SEQ(A a, A b) WITHIN 1 s",
    ]
    found: list[str] = []
    with pytest.raises(SaffronError, match=r"query many failed: .*too many to list: OUTPUT COMPRESSED"):
        found.extend(one.query for one in saffron.replay(texts, [{"type": "A", "ts": ts} for ts in range(60)]))
    assert found == ["few"] * 59
