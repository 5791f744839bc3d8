"""The events of a replay: files of events, or files of messages that a definition makes a stream of."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from saffron.cli.progress import Reading

if TYPE_CHECKING:
    from saffron.cli.replays.places import Places
    from saffron.engine.events.raw import RawBatch
    from saffron.runtime.replay.merged_stream import InnerFiles, MergedFiles
    from saffron.schema.schema import Schema


class Events(Protocol):
    """Events that can be read, more than once where they are not on standard input."""

    def settings(self) -> dict[str, Any]:
        """The settings of the `Replay` that reads these events next."""

    def batches(self) -> Iterator[RawBatch]:
        """The events from the first one on."""

    def watched(self, places: Places, *, silent: bool) -> Iterator[RawBatch]:
        """All events, with a line of progress unless `silent`. `places` notes where each event stands."""

    @property
    def merged(self) -> Callable[[], MergedFiles | InnerFiles] | None:
        """Opens the files of a merged stream; None: it is none."""


class EventFiles:
    """Files of events. `partitions`, `key`: how producers would split them; 1 and None: not at all."""

    merged = None

    def __init__(self, names: Sequence[str], schema: Schema | None, partitions: int, key: str | None) -> None:
        if (partitions > 1) != (key is not None):
            raise typer.BadParameter("--partitions N and --key ATTR go together")
        self.names = names
        self._schema = schema
        self._settings = {"partitions": partitions, "key": key, "ahead": "-" not in names}

    def settings(self) -> dict[str, Any]:
        return self._settings

    def batches(self) -> Iterator[RawBatch]:
        from saffron.engine.events.formats.files import read_events

        return (chunk.batch for chunk in read_events(self.names, schema=self._schema, stdin=sys.stdin.buffer))

    def watched(self, places: Places, *, silent: bool) -> Iterator[RawBatch]:
        from saffron.engine.events.formats.files import read_events

        chunks = places.watch(read_events(self.names, schema=self._schema, stdin=sys.stdin.buffer))
        return (chunk.batch for chunk in chunks) if silent else Reading(self.names).watch(chunks)


class MessageFiles:
    """Files of messages: TOPIC=FILE..., several of a topic are its partitions.

    `definition`: of the stream. Its name instead of a topic stands for its inner topic, as `saffron tail` prints it.
    `partitions`: of the stream; None: as the definition says, or as the topics have. `queries`: texts, whose look-ups
    in tables are made.
    """

    def __init__(self, definition: Path, inputs: Sequence[str], partitions: int | None, queries: Sequence[str]) -> None:
        from saffron.mapping.definition_file import definition_at

        self._definition = definition_at(definition, queries)
        self._files = _by_topic(inputs)
        self._partitions = partitions
        self._open: MergedFiles | InnerFiles | None = None

    @property
    def merged(self) -> Callable[[], MergedFiles | InnerFiles]:
        return self._opened

    def settings(self) -> dict[str, Any]:
        self._open = self._opened()
        return {"partitions": self._open.partitions, "merged": self._open, "ahead": True}

    def batches(self) -> Iterator[RawBatch]:
        return self._opened().batches()

    def watched(self, places: Places, *, silent: bool) -> Iterator[RawBatch]:
        del places, silent  # dead letters name their places themselves
        assert self._open is not None
        return self._open.batches()

    def _opened(self) -> MergedFiles | InnerFiles:
        from saffron.runtime.replay.merged_stream import opened

        return opened(self._definition, self._files, self._partitions)


def _by_topic(inputs: Sequence[str]) -> Mapping[str, Sequence[Path]]:
    """The files by topic. BadParameter: one is no TOPIC=FILE."""
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for one in inputs:
        topic, _, path = one.partition("=")
        if not topic or not path:
            raise typer.BadParameter(f"with --stream events are TOPIC=FILE, and {one!r} is none")
        files[topic].append(Path(path))
    return files
