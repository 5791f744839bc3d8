"""Incidents of input topics in words, with the command that mends them."""

from __future__ import annotations

import pytest

from saffron.records.stream import AppliedDefinition, StreamRecord
from saffron.runtime.hops.incident_reports import incident_reports_of

GROWN = {"kind": "grown", "before": 1, "after": 3, "at": 0, "offset": 7}
INPUTS = [{"topic": "t", "partition": partition, "incidents": [GROWN]} for partition in (0, 1)]


@pytest.mark.parametrize(
    ("streams", "fix"),
    [
        (None, "`saffron doctor` names the command"),
        ({}, "add one over t first, `saffron stream add`"),
        ({"quotes": StreamRecord("quotes", "t")}, "saffron stream add quotes-fixed --from quotes --key ATTR"),
        (
            {"events": StreamRecord("events", "e"), "quotes": StreamRecord("quotes", "t", key="symbol")},
            "saffron stream add quotes-fixed --from quotes --key symbol",
        ),
        (
            {"quotes": StreamRecord("quotes", "t", key="symbol", source="events")},
            "saffron stream add quotes-fixed --from events --key symbol",
        ),
        (
            {"quotes": StreamRecord("quotes", "t", source="events")},
            "saffron stream add quotes-fixed --from events --partitions 1",
        ),
        (
            {"quotes": StreamRecord("quotes", "t", key="symbol", definition=AppliedDefinition("", {}, 1))},
            "there `stream: quotes-fixed` and `key: symbol`, then saffron stream apply quotes-fixed.yaml",
        ),
    ],
)
def test_a_topic_that_has_grown_is_one_report_with_real_names(
    streams: dict[str, StreamRecord] | None, fix: str
) -> None:
    (report,) = incident_reports_of(INPUTS, streams)
    assert report.where == "t"
    assert report.what.startswith("it had 1 partition and has 3, ")
    assert "noticed at partition/offset 0/7, 1/7" in report.what
    assert report.fix.endswith(fix)


def row(partition: int, *incidents: tuple[str, int, int, int], topic: str = "id2") -> dict[str, object]:
    """What one chain reports. `incidents`: (kind, at, before, after)."""
    bodies = [
        {"kind": kind, "at": at, "offset": before, "before": before, "after": after}
        for kind, at, before, after in incidents
    ]
    return {"topic": "t", "partition": partition, "id": topic, "incidents": bodies}


def test_a_topic_made_anew_is_one_report_however_many_streams_and_partitions_notice_it() -> None:
    anew, later = ("remade", 1_000, 6, 0), ("remade", 8_000, 6, 0)
    (report,) = incident_reports_of([row(0, anew), row(1, anew), row(0, later), row(1, ("remade", 9_000, 4, 0))])
    assert report.where == "t"
    assert report.what == (
        "it was deleted and made anew, 1970-01-01 00:00:01 UTC; the old one was read up to partition/offset "
        "0/6, 1/4, 1/6, the new one is read from its first record on"
    )


def test_a_topic_that_is_made_anew_twice_is_two_reports_though_a_stream_noticed_the_last_one_alone() -> None:
    first, second = ("remade", 1_000, 6, 0), ("remade", 90_000, 3, 0)
    reports = incident_reports_of([row(0, first, second), row(0, ("remade", 91_000, 3, 0))])
    assert [report.what.partition(" UTC")[0][-8:] for report in reports] == ["00:01:30", "00:00:01"]


def test_records_that_several_streams_lost_are_one_report_and_those_of_another_topic_of_the_name_another() -> None:
    lost = ("lost", 1_000, 3, 5)
    rows = [row(0, lost), row(0, ("lost", 2_000, 3, 5)), row(0, ("lost", 2_000, 2, 5)), row(1, lost)]
    assert [report.where for report in incident_reports_of(rows)] == ["t/0", "t/0", "t/1"]
    assert len(incident_reports_of([row(0, lost, ("remade", 3_000, 9, 0), lost)])) == 3


def test_a_report_without_the_id_of_its_topic_is_read() -> None:
    old = {"topic": "t", "partition": 0, "incidents": row(0, ("remade", 1, 2, 0))["incidents"]}
    assert [report.where for report in incident_reports_of([old])] == ["t"]


def test_a_topic_that_lost_its_end_is_a_report_for_each_partition() -> None:
    gone = ("truncated", 1_000, 9, 6)
    reports = incident_reports_of([row(0, gone), row(1, gone), row(1, gone)])
    assert [one.where for one in reports] == ["t/0", "t/1"]
    assert "3 records (offsets 6 to 8) had been read" in reports[0].what
