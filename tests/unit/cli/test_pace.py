"""When events are due, by a clock that only sleeping moves."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saffron.cli.streams import pace
from saffron.engine.events.decoding.exact import decode_exactly
from saffron.engine.events.decoding.rules.outcomes import Event
from saffron.errors import InputError
from saffron.schema.schema import Schema

NOW = 1_800_000_000_000
DAY = 86_400_000


class Clock:
    """`monotonic` and `sleep` of a time that stands still otherwise."""

    def __init__(self) -> None:
        self.now = 50.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    monkeypatch.setattr(pace, "wall_ms", lambda: NOW)
    return clock


ANY = Schema({}, {}, {}, times={"A": "uniform"})


def event(ts: object) -> bytes:
    return b'{"type":"A","ts":%s}' % str(ts).encode()


@pytest.mark.parametrize("rate", [3.0, 100.0, 12_345.0])
def test_a_rate_is_kept_and_never_exceeded(rate: float, clock: Clock) -> None:
    begun, sent = clock.now, 0
    for part in pace.slices(iter([[b"x"] * 1000, [b"y"] * 1000]), rate, None):
        sent += len(part)
        assert sent <= (clock.now - begun) * rate + 1
    assert sent == 2000
    assert (clock.now - begun) * rate == pytest.approx(2000, abs=0.03 * rate + 3)


def test_without_a_rate_all_is_due_at_once(clock: Clock) -> None:
    assert list(pace.slices(iter([[b"x"], [b"y"]]), None, None)) == [[b"x"], [b"y"]]


def test_speedup_follows_the_events_own_times(clock: Clock) -> None:
    # ts     0   1   |        10 s at tenfold speed          | 20 s
    lines = [event(0), event(1), event(10_000), event(20_000)]
    moments = [(len(part), clock.now - 50.0) for part in pace.slices(iter([lines]), None, 10.0)]
    assert [count for count, _ in moments] == [2, 1, 1]
    assert [at for _, at in moments] == pytest.approx([0.0, 1.0, 2.0])


def test_iso_times_serve_too(clock: Clock) -> None:
    lines = [b'{"ts":"2026-01-01T00:00:00Z"}', b'{"ts":"2026-01-01T00:00:30+00:00"}']
    list(pace.slices(iter([lines]), None, 1.0))
    assert clock.now == pytest.approx(80.0)


def test_speedup_of_events_without_a_time_is_an_error(clock: Clock) -> None:
    with pytest.raises(
        InputError, match=r"--speedup needs events with a `ts`, .*; the first 1 have none, such as \{\"x\":1"
    ):
        list(pace.slices(iter([[b'{"x":1}']]), None, 1.0))


def test_times_that_are_too_far_ahead_are_said_to_be_by_the_setting(clock: Clock) -> None:
    with pytest.raises(InputError, match=r"no further ahead than SAFFRON_MAX_FUTURE_MS \(86400000\) of this command"):
        list(pace.slices(iter([[event(NOW + 2 * DAY)]]), None, 1.0))
    slices = pace.slices(iter([[event(NOW + 2 * DAY)]]), None, 1.0, 3 * DAY)
    assert list(slices) == [[event(NOW + 2 * DAY)]]


def test_a_line_without_a_time_goes_with_the_one_before_it(clock: Clock) -> None:
    lines = [
        event(0),
        b"no event",
        b'{"ts":[]}',
        event('"1970-01-01T00:00:10"'),
        b'{"ts":"never"}',
        event("[20000,20001]"),
    ]
    moments = [(len(part), clock.now - 50.0) for part in pace.slices(iter([lines]), None, 1.0)]
    assert [count for count, _ in moments] == [3, 2, 1]
    assert [at for _, at in moments] == pytest.approx([0.0, 10.0, 20.0])


def test_a_time_that_windowing_refuses_is_not_waited_for(clock: Clock) -> None:
    lines = [event(NOW), event(NOW + DAY + 1), event("1e400"), event(NOW * 1000), event(NOW + 5_000)]
    list(pace.slices(iter([lines]), None, 1.0))
    assert clock.now == pytest.approx(55.0)


def test_a_long_wait_is_told(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    list(pace.slices(iter([[event(0), event(59_000), event(1_000_000_000)]]), None, 1.0))
    assert capsys.readouterr().err == "the next event, of 1970-01-12 13:46:40, is due in 999,941 s\n"
    assert clock.now == pytest.approx(1_000_050.0)


def latest_of(*batches: list[bytes]) -> pace.Latest:
    latest = pace.Latest(DAY)
    assert list(latest.watch(iter(batches))) == list(batches)
    return latest


def test_the_latest_time_is_remembered(clock: Clock) -> None:
    latest = latest_of([event(5), event(3)], [b'{"ts":"1970-01-01T00:00:07Z"}'])
    assert (latest.ts, latest.left_out) == (7000, 0)
    list(latest.watch(iter([[b'{"type":"A"}']])))
    assert latest.ts == NOW


def test_no_line_is_no_latest_time() -> None:
    assert latest_of([], []).ts is None


@pytest.mark.parametrize(
    ("line", "ts"),
    [
        (b'{"type":"A","items":[{"ts":9000000000000}],"ts":1000}', 1000),
        (b'{"type":"A","payload":{"ts":4102444800000}}', NOW),
        (b'{"type":"A","payload":{"ts":5}}', NOW),
        (b'{"type":"A","x":"{","ts":7}', 7),
        (b'{"type":"A","ts":[8,9]}', 8),
        (event(NOW + DAY), NOW + DAY),
    ],
)
def test_the_latest_time_is_that_of_the_events_themselves(line: bytes, ts: int, clock: Clock) -> None:
    assert (latest_of([line]).ts, latest_of([line]).left_out) == (ts, 0)


@pytest.mark.parametrize(
    "line",
    [
        event(NOW + DAY + 1),
        event(NOW * 1000),
        event("1e400"),
        event('"2100-01-01"'),
        event("[9,8]"),
        b"no event",
        b"[1]",
    ],
)
def test_a_line_that_windowing_refuses_is_no_end(line: bytes, clock: Clock) -> None:
    latest = latest_of([event(1000), line, event(999)])
    assert (latest.ts, latest.left_out) == (1000, 1)


NUMBERS = st.integers(-(10**17), 10**17) | st.floats() | st.sampled_from([NOW, NOW + DAY, NOW + DAY + 1])
TIMES = NUMBERS | st.none() | st.booleans() | st.lists(NUMBERS, max_size=3) | st.fixed_dictionaries({"ts": NUMBERS})


@given(st.fixed_dictionaries({"type": st.just("A")}, optional={"ts": TIMES, "x": TIMES, "y": st.text()}))
def test_the_latest_time_is_as_windowing_takes_it(event: dict[str, Any]) -> None:
    line = orjson.dumps(event)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace, "wall_ms", lambda: NOW)
        latest = latest_of([line])
    taken = decode_exactly(line, ANY, NOW, DAY)
    assert (latest.ts, latest.left_out) == ((taken.ts, 0) if isinstance(taken, Event) else (None, 1))
