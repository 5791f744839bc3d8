"""Where a query may publish: refused before it is written, with the way out."""

from __future__ import annotations

import pytest

from saffron.control.checks import Refused, check
from saffron.records.stream import StreamRecord
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.known_streams import KnownStreams

QUERY = "QUERY q PATTERN A a WITHIN 1 s RETURN a.x AS x PUBLISH {}"


def streams() -> KnownStreams:
    known = KnownStreams(Topics("p."))
    record = StreamRecord("trades", "trades")
    known.apply(b"trades", record.encode(), 0)
    return known


@pytest.mark.parametrize(
    ("publish", "why"),
    [
        ("'p.complex-events'", "topic 'p.complex-events' is Saffron's own"),
        ("'trades'", "topic 'trades' holds the events of stream 'trades'"),
        ("'rows' AS AVRO", "query 'rows' publishes to topic 'rows', and rows (AS) have the fields of one query"),
        ("'rows'", "query 'rows' publishes to topic 'rows', and rows (AS) have the fields of one query"),
        ("'plain' AS JSON SCHEMA", "query 'plain' publishes to topic 'plain', and rows"),
    ],
)
def test_topics_that_are_taken(publish: str, why: str) -> None:
    others = {
        "rows": "PATTERN A a WITHIN 1 s RETURN a.x AS x PUBLISH 'rows' AS JSON SCHEMA",
        "plain": "PATTERN A a WITHIN 1 s PUBLISH 'plain'",
    }
    with pytest.raises(Refused) as caught:
        check(QUERY.format(publish), None, streams(), others)
    assert str(caught.value).startswith(why)


def test_topics_that_may_be_written() -> None:
    others = {"plain": "PATTERN A a WITHIN 1 s PUBLISH 'plain'", "q": QUERY.format("'mine' AS AVRO")}
    for publish in ("'plain'", "'mine' AS JSON SCHEMA", "'new' KEY a.x", ""):
        assert check(QUERY.format(publish), None, streams(), others).name == "q"


def test_results_that_only_others_read_are_told_of() -> None:
    maker = "QUERY q PATTERN A a WITHIN 1 s RETURN a.x AS x INTO D"
    told = check(maker, None, streams()).warnings
    assert "the results of q are events of other queries only; PUBLISH writes them, too" in told
    assert not any("PUBLISH" in one for one in check(f"{maker} PUBLISH", None, streams()).warnings)
