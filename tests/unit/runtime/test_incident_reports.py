"""Incidents of input topics in words, with the command that mends them."""

from __future__ import annotations

import pytest

from saffron.records.stream import StreamRecord
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
