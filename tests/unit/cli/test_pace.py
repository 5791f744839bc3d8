"""When events are due, by a clock that only sleeping moves."""

from __future__ import annotations

import pytest

from saffron.cli.streams import pace
from saffron.errors import InputError


class Clock:
    """`monotonic` and `sleep` of a time that stands still otherwise."""

    def __init__(self) -> None:
        self.now = 50.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def time_ns(self) -> int:
        return 9_000_000_000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    return clock


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
        InputError, match=r"--speedup needs events with a `ts`; the first 1 have none, such as \{\"x\":1"
    ):
        list(pace.slices(iter([[b'{"x":1}']]), None, 1.0))


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


def test_the_latest_time_is_remembered(clock: Clock) -> None:
    latest = pace.Latest()
    assert list(latest.watch(iter([[event(5), event(3)], [b'{"ts":"1970-01-01T00:00:07Z"}']]))) != []
    assert latest.ts == 7000
    list(latest.watch(iter([[b"no event"]])))
    assert latest.ts == 9000


def test_the_latest_time_is_that_of_the_events_themselves() -> None:
    latest = pace.Latest()
    nested = b'{"type":"A","items":[{"ts":9000000000000}],"ts":1000}'
    assert list(latest.watch(iter([[], [nested], []]))) == [[], [nested], []]
    assert latest.ts == 1000
