"""Snapshots of operator state: checksummed files, each tagged with its input position.

A file is written under a temporary name and renamed when complete. It ends with a checksum of its content. The newest
two are kept, so that a damaged newest one costs only a longer replay.

    magic | length of header (8 bytes) | header (JSON) | arrays, one after another | blake2b of everything before
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from saffron.engine.operators.operator import State

_MAGIC = b"SAFFRON\x03"
_DIGEST = 32
_KEEP = 2
_SUFFIX, _PART = ".snapshot", ".tmp"


@dataclass(frozen=True)
class Snapshot:
    """The state of a chain between two blocks.

    `position`: offset of the next input record to apply. `reader`: the shell's own part, as JSON values.
    """

    position: int
    reader: Mapping[str, Any]
    state: State


def encode(snapshot: Snapshot) -> bytes:
    """The content of a snapshot's file."""
    body = b"".join(_parts(snapshot))
    return body + hashlib.blake2b(body, digest_size=_DIGEST).digest()


class Snapshots:
    """The snapshots of one chain in one directory. Every member that may own the chain must reach the directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.skipped: list[str] = []

    def write(self, snapshot: Snapshot) -> None:
        """Writes a snapshot, and deletes all but the newest two. Later positions are of a topic that is gone.

        Parts that a killed process has left are deleted too. OSError: it cannot be written; nothing of it stays.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        for part in self._directory.glob(f"[0-9]*{_PART}"):
            part.unlink(missing_ok=True)
        final = self._directory / f"{snapshot.position:020d}{_SUFFIX}"
        temporary = final.with_suffix(f".{os.getpid()}{_PART}")
        # No fsync, which would stall results for tenths of a second. A snapshot damaged by a power cut fails its
        # checksum, and the one before it, or the log, is used.
        try:
            _write(temporary, snapshot)
            temporary.replace(final)
        except OSError:  # on a full disk, what is written would take the room that others need
            temporary.unlink(missing_ok=True)
            raise
        files = self._files()
        newest = files.index(final)
        for old in (*files[:newest], *files[newest + _KEEP :]):
            old.unlink(missing_ok=True)

    def newest(self, limit: int, topic: str, *, known: bool = False) -> Snapshot | None:
        """The newest undamaged snapshot at or before offset `limit`, or None.

        Damaged and newer snapshots and those of another topic are listed in `skipped`. `topic`: id of the input topic.
        `known`: exclude snapshots without a topic id (version 0.1.0).
        """
        self.skipped = []
        for path in self._files():
            if int(path.name.removesuffix(_SUFFIX)) > limit:
                self.skipped.append(f"{path.name}: newer than the committed position {limit}")
                continue
            try:
                snapshot = decode(path.read_bytes())
                of = snapshot.reader.get("topic", "" if known else topic)
                if of == topic:
                    return snapshot
                self.skipped.append(f"{path.name}: of another topic ({of or 'it does not say which'})")
            except (ValueError, KeyError, OSError) as error:
                self.skipped.append(f"{path.name}: {error}")
        return None

    def discard(self, limit: int) -> None:
        """Deletes the snapshots behind offset `limit`: the topic has other records there now."""
        for path in self._files():
            if int(path.name.removesuffix(_SUFFIX)) > limit:
                path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        """The snapshot files, newest first."""
        found = [path for path in self._directory.glob(f"*{_SUFFIX}") if path.name.removesuffix(_SUFFIX).isdigit()]
        return sorted(found, reverse=True)


def _write(path: Path, snapshot: Snapshot) -> None:
    """Writes the file part by part, without a copy of the whole."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    with path.open("wb") as file:
        for part in _parts(snapshot):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())


def _parts(snapshot: Snapshot) -> Iterator[bytes | memoryview]:
    """The parts of a snapshot's file, without the checksum at its end. Arrays that lie in one piece are not copied."""
    arrays = {name: np.ascontiguousarray(array) for name, array in snapshot.state.items()}
    header = orjson.dumps(
        {
            "position": snapshot.position,
            "reader": snapshot.reader,
            "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()],
        }
    )
    yield _MAGIC + len(header).to_bytes(8, "little") + header
    for array in arrays.values():
        yield array.reshape(-1).view(np.uint8).data


def decode(data: bytes) -> Snapshot:
    """The snapshot in `data`. ValueError: damaged, or of another format."""
    if data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("not a snapshot of this version")
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
        raise ValueError("torn or changed: its checksum does not fit")
    start = len(_MAGIC) + 8
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    header = orjson.loads(body[start:end])
    state: dict[str, np.ndarray[Any, Any]] = {}
    for name, dtype, shape in header["arrays"]:
        count = int(np.prod(shape, dtype=np.int64))
        state[name] = np.frombuffer(body, dtype=np.dtype(dtype), count=count, offset=end).reshape(shape).copy()
        end += state[name].nbytes
    return Snapshot(header["position"], header["reader"], state)
