"""The doctor on what silence has made late."""

from __future__ import annotations

from dataclasses import replace

from saffron.cli.checks.cluster.silence import check_silence
from saffron.records.stream import StreamRecord
from tests.unit.cli.checks.sound import bad, digests, sound


def test_events_late_by_silence_are_named_with_the_bound_and_the_way_out() -> None:
    look = sound()
    beats = StreamRecord("beats", "beats", silence=30_000)
    late = replace(digests("windowing", 0)[-1], stream="beats", late_by_silence=3)
    (found,) = bad(check_silence(replace(look, streams={"beats": beats}, digests=(*look.digests, late))))
    assert found.where == "stream beats, partition 0"
    assert found.what.startswith("3 events")
    assert "30000 ms" in found.what
    assert "saffron stream set beats --silence" in found.fix
    assert "late-by-silence" in found.fix


def test_a_stream_without_is_not_named() -> None:
    assert not bad(check_silence(sound()))
