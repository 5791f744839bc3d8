"""The doctor on what silence has made late."""

from __future__ import annotations

from dataclasses import replace

from prometheus_client.samples import Sample

from saffron.cli.checks.cluster.silence import check_silence
from saffron.cli.system.scrape import Page
from saffron.cli.system.silent_streams import SilenceLine, silence_of
from saffron.records.stream import StreamRecord
from tests.unit.cli.checks.sound import bad, digests, sound


def test_events_late_by_silence_are_named_with_the_bound_and_the_way_out() -> None:
    look = sound()
    beats = StreamRecord("beats", "beats", silence=30_000)
    late = replace(digests("windowing", 0)[-1], stream="beats", late_by_silence=3)
    (found,) = bad(check_silence(replace(look, streams={"beats": beats}, digests=(*look.digests, late))))
    assert found.where == "stream beats, partition 0"
    assert found.what.startswith("3 events")
    assert "30s" in found.what
    assert "saffron stream set beats --silence" in found.fix
    assert "late-by-silence" in found.fix


def test_a_stream_without_is_not_named() -> None:
    assert not bad(check_silence(sound()))


def test_status_says_how_far_silence_has_moved_event_time() -> None:
    def sample(name: str, value: float, stream: str, partition: str = "0") -> Sample:
        return Sample(name, {"stream": stream, "partition": partition}, value)

    page = Page(
        [
            sample("saffron_silence_seconds", 31.2, "beats"),
            sample("saffron_silence_seconds", 30.5, "beats", "1"),
            sample("saffron_late_by_silence_total", 2, "beats"),
            sample("saffron_late_by_silence_total", 1, "trades"),
            sample("saffron_late_by_silence_total", 0, "events"),
        ]
    )
    beats, trades = silence_of(page)
    assert (beats, trades) == (SilenceLine("beats", 31.2, 2), SilenceLine("trades", 0.0, 1))
    assert beats.sentence.startswith("stream beats, by its silence: event time is 31 s ahead of the events; 2 events")
    assert "ahead" not in trades.sentence
