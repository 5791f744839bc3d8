"""The check of late events after silence: the sources were not silent then, but late."""

from __future__ import annotations

from collections.abc import Iterator

from saffron.cli.checks.cluster.look import Look
from saffron.cli.finding import Finding, warning
from saffron.counted import counted
from saffron.durations import as_option

_CHECK = "silence"


def check_silence(look: Look) -> Iterator[Finding]:
    """Findings on streams whose event time had gone on without events that came after all."""
    for (service, stream, partition), digests in sorted(look.sources().items(), key=str):
        late = digests[-1].late_by_silence
        if service == "windowing" and late:
            record = look.streams.get(str(stream))
            bound = f" of {as_option(record.silence)}" if record is not None and record.silence is not None else ""
            letters = counted(
                late,
                "event since windowing started is a dead letter",
                "events since windowing started are dead letters",
            )
            what = f"{letters} only because a silence{bound} had moved event time on"
            fix = (
                f"was the source late, give it a longer one (saffron stream set {stream} --silence 2m); the events: "
                "saffron dlq list --reason late-by-silence"
            )
            yield warning(_CHECK, what, f"stream {stream}, partition {partition}", fix)
