"""A proposed definition: for each source what was found in its newest messages, and why it is proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from saffron.mapping.definition import Envelope, TimeFormat
from saffron.mapping.paths import Path


@dataclass(frozen=True)
class ProposedTime:
    """Where the time of a source's events is; `path` None: the message's own time."""

    path: Path | None
    form: TimeFormat | str
    reason: str


@dataclass(frozen=True)
class ProposedKey:
    """The path whose values are the key in one source."""

    path: Path
    reason: str


@dataclass(frozen=True)
class ProposedSource:
    """One topic. `numbers`: paths whose texts hold numbers. `kinds`: a path of few values, and these values."""

    topic: str
    messages: int
    envelope: Envelope
    time: ProposedTime
    key: ProposedKey | None
    numbers: Sequence[Path]
    kinds: tuple[Path, Sequence[str]] | None
