"""Event times as they stand on real topics: each by the format that reads it, to the same millisecond."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.mapping.definition import TimeFormat
from saffron.mapping.message import Number
from saffron.mapping.time_formats import TimeError, instant, is_finer, zone_of
from saffron.schema.iso_times import iso_text

NOON = 1_777_629_600_000  # 2026-05-01T10:00Z, noon in Berlin
LATER = NOON + 7_200_000  # noon in London's winter, and UTC
RECEIVED = NOON + 5_000
ISO, SECONDS, MILLIS, MICROS, NANOS = TimeFormat
SYSLOG, HTTP = "%b %d %H:%M:%S", "%a, %d %b %Y %H:%M:%S %Z"

GOOD = [
    ("2026-05-01 12:00:00.123+02:00", ISO, NOON + 123),
    ("2026-05-01T12:00:00.123456789Z", ISO, LATER + 123),
    ("2026-05-01T12:00:00", ISO, LATER),
    ("2026-05-01T12:00:00+0200", ISO, NOON),
    ("2026-05-01T12:00:00+02", ISO, NOON),
    ("2026-05-01T12:00Z", ISO, LATER),
    ("2026-05-01", ISO, LATER - 43_200_000),
    ("20260501T120000Z", ISO, LATER),
    ("2026-05-01 12:00:00 UTC", ISO, LATER),
    ("2026-05-01T12:00:00 +02:00", ISO, NOON),
    ("2026-05-01T12:00:00,5Z", ISO, LATER + 500),
    ("2026-05-01t12:00:00z", ISO, LATER),
    ("2026-05-01T12:00:00[Europe/Berlin]", ISO, NOON),
    ("2026-05-01T12:00:00+02:00[Europe/Berlin]", ISO, NOON),
    ("2026-05-01T24:00:00Z", ISO, LATER + 43_200_000),
    ("20260501T2400Z", ISO, LATER + 43_200_000),
    ("2026-06-30T23:59:60Z", ISO, 1_782_864_000_000),
    ("May  1 12:00:00", SYSLOG, LATER),
    ("01/05/2026 12:00:00", "%d/%m/%Y %H:%M:%S", LATER),
    ("Fri, 01 May 2026 12:00:00 GMT", HTTP, LATER),
    ("01/May/2026:12:00:00 +0200", "%d/%b/%Y:%H:%M:%S %z", NOON),
    (Number("1777629600"), SECONDS, NOON),
    (Number("1777629600.1239"), SECONDS, NOON + 123),
    (Number("1777629600123"), MILLIS, NOON + 123),
    (Number("1777629600123456"), MICROS, NOON + 123),
    (Number("1777629600123456789"), NANOS, NOON + 123),
    (Number("-1.5"), MILLIS, -2),
    ("1777629600123", MILLIS, NOON + 123),
    (" 1777629600.123 ", SECONDS, NOON + 123),
]
BAD = [
    (None, ISO), (True, MILLIS), ([Number("1")], MILLIS), (Number("1"), ISO), ("", MILLIS), ("1e999", SECONDS),
    ("2026-02-30", ISO), ("2026-05-01T25:00Z", ISO), ("2026-05-01T12:00:00+25:00", ISO), ("noon", ISO),
    ("2026-05-01T12:00:00[Mars/Base]", ISO), ("Fri, 01 May 2026 12:00:00 CET", HTTP), (Number("1"), HTTP),
    ("May 32 12:00:00", SYSLOG),
]  # fmt: skip


@pytest.mark.parametrize(("value", "form", "ms"), GOOD)
def test_a_time_is_read_by_its_format(value: object, form: TimeFormat | str, ms: int) -> None:
    assert instant(value, form, None, RECEIVED) == ms


@pytest.mark.parametrize(("value", "form"), BAD)
def test_what_is_no_time_is_refused(value: object, form: TimeFormat | str) -> None:
    with pytest.raises(TimeError):
        instant(value, form, None, RECEIVED)


@pytest.mark.parametrize("pattern", [HTTP, "%d %b %Z", "%d/%m/%Y %H:%M:%S", SYSLOG])
def test_a_text_that_does_not_fit_is_told_the_pattern_as_it_was_given(pattern: str) -> None:
    with pytest.raises(TimeError) as refused:
        instant("noon", pattern, None, RECEIVED)
    assert str(refused.value) == f"it does not fit the pattern {pattern}"


def test_a_zone_is_that_of_times_without_an_offset_summer_and_winter() -> None:
    berlin = zone_of("Europe/Berlin")
    assert instant("2026-05-01 12:00:00", ISO, berlin, None) == NOON
    assert instant("2026-01-01 12:00:00", ISO, berlin, None) == 1_767_265_200_000
    assert instant("2026-05-01 12:00:00Z", ISO, berlin, None) == LATER
    assert instant("01.05.2026 12:00", "%d.%m.%Y %H:%M", berlin, None) == NOON
    assert instant("2026-10-25 02:30:00", ISO, berlin, None) == 1_792_888_200_000, "of two the first"


@pytest.mark.parametrize("zone", [None, ZoneInfo("Asia/Tokyo"), ZoneInfo("America/New_York")])
@pytest.mark.parametrize("ahead", [-40_000_000, -5_000, 0, 5_000, 40_000_000])
def test_a_time_of_day_is_of_the_day_nearest_to_its_message(zone: ZoneInfo | None, ahead: int) -> None:
    for hour in range(0, 48, 3):
        ts = 1_777_629_600_000 + hour * 3_600_000
        text = datetime.fromtimestamp(ts / 1000, zone or UTC).strftime("%H:%M:%S")
        assert instant(text, "%H:%M:%S", zone, ts + ahead) == ts


def test_a_time_without_a_year_is_of_the_year_nearest_to_its_message() -> None:
    new_year = 1_767_225_600_000
    assert instant("Dec 31 23:59:59", SYSLOG, None, new_year) == new_year - 1000
    assert instant("Jan 1 00:00:01", SYSLOG, None, new_year - 5000) == new_year + 1000
    with pytest.raises(TimeError, match="no day"):
        instant("11:59:58", "%H:%M:%S", None, None)
    with pytest.raises(TimeError, match="no year"):
        instant("Dec 31 23:59:59", SYSLOG, None, None)


@given(st.integers(-62_167_219_200_000, 10**14), st.sampled_from(["Europe/Berlin", "UTC"]))
def test_iso_text_comes_back(ms: int, zone: str) -> None:
    assert instant(iso_text(1_000_000 * ms, "Z"), ISO, zone_of(zone), None) == ms


@given(st.integers(-2_000_000_000, 4_000_000_000))
def test_a_pattern_reads_what_it_writes(seconds: int) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    text = moment.strftime("%Y/%m/%d %H:%M:%S")
    assert instant(text, "%Y/%m/%d %H:%M:%S", None, None) == seconds * 1000


@pytest.mark.parametrize(
    ("value", "form", "finer"),
    [
        ("2026-05-01T12:00:00.123Z", TimeFormat.ISO, False),
        ("2026-05-01T12:00:00.123000Z", TimeFormat.ISO, False),
        ("2026-05-01T12:00:00.1234Z", TimeFormat.ISO, True),
        ("2026-05-01 12:00:00,000001+02:00", TimeFormat.ISO, True),
        ("1777629600.123", TimeFormat.SECONDS, False),
        ("1777629600.1234", TimeFormat.SECONDS, True),
        ("1777629600123000", TimeFormat.MICROSECONDS, False),
        ("1777629600123001", TimeFormat.MICROSECONDS, True),
        ("1777629600123", TimeFormat.MILLISECONDS, False),
        ("01/May/2026:12:00:00.000250", "%d/%b/%Y:%H:%M:%S.%f", True),
    ],
)
def test_digits_that_are_cut_are_known(value: str, form: TimeFormat | str, finer: bool) -> None:
    assert is_finer(value, form) == finer
