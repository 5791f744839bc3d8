"""A file with the query step in progress, which survives the process: it shows which query a process died in.

Before each step the query's name is written to memory mapped from the file. This needs no system call, and the kernel
keeps the memory however the process ends. One death proves nothing, since processes die for many reasons. A second
death in the same query and the same block is counted against the query.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import os
import struct
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path

import orjson

from saffron.engine.operators.containment import is_together

_LOG = logging.getLogger(__name__)
_SIZE = 1024
_HEAD = struct.Struct("<Hqq")
"""Length of the text behind it (0: no step in progress), offset of the block, version of the query."""
_KEPT = 64
PROOF_DEATHS = 2
"""Deaths in the same query and block after which the query is stopped."""


@dataclass(frozen=True)
class Death:
    """The death of a process in a step of a query, at the block at `offset`.

    `times`: deaths in this query and block.
    """

    query: str
    version: int
    step: str
    offset: int
    times: int = 1

    @property
    def shared(self) -> bool:
        """True if several queries took the step together."""
        return is_together(self.step)

    @property
    def proven(self) -> bool:
        """True if the query is held responsible."""
        return self.times >= PROOF_DEATHS and not self.shared

    def has_same_cause(self, other: Death) -> bool:
        """True if both deaths were in the same query and block."""
        mine, others = replace(self, times=0, step=""), replace(other, times=0, step="")
        return mine == others and self.shared == other.shared

    def reason(self) -> str:
        """The failure's reason, as text."""
        return f"{self.step}: its process died in it {self.times} times, with the block at offset {self.offset}"


class LastStep:
    """The file of one partition. Where it cannot be created, deaths go unnoticed."""

    def __init__(self, directory: Path) -> None:
        self._deaths = directory / "deaths.json"
        self._map = _mapped(directory / "step")

    def set_offset(self, offset: int) -> None:
        """Sets the offset of the block that later steps process."""
        self._offset = offset

    def enter(self, query: str, version: int, step: str) -> None:
        """Records the start of a step."""
        text = _text(query, step)
        end = _HEAD.size + len(text)
        self._map[:2] = b"\0\0"  # else a death here would leave a mixture of two names
        self._map[_HEAD.size : end] = text
        _HEAD.pack_into(self._map, 0, len(text), self._offset, version)

    def leave(self) -> None:
        """Records that no step is in progress."""
        self._map[:2] = b"\0\0"

    def take_deaths(self, since: int) -> list[Death]:
        """The last process's death, if it was in a query, and known deaths at offset `since` or later.

        The last death is counted and stored.
        """
        known, last = self._known(), self._last()
        self.leave()
        if last is not None:
            same = [one for one in known if one.has_same_cause(last)]
            last = replace(last, times=1 + max((one.times for one in same), default=0))
            known = [*(one for one in known if one not in same), last][-_KEPT:]
            self._keep(known)
        return [one for one in known if one is last or one.offset >= since]

    # ------------------------------------------------------------ inside

    _offset = 0

    def _last(self) -> Death | None:
        length, offset, version = _HEAD.unpack_from(self._map, 0)
        if not 0 < length <= _SIZE - _HEAD.size:
            return None
        query, _, step = self._map[_HEAD.size : _HEAD.size + length].decode(errors="replace").partition("\0")
        return Death(query, version, step or "working", offset)

    def _known(self) -> list[Death]:
        try:
            return [Death(**one) for one in orjson.loads(self._deaths.read_bytes())]
        except (OSError, orjson.JSONDecodeError, TypeError):
            return []

    def _keep(self, deaths: list[Death]) -> None:
        fresh = self._deaths.with_suffix(f".{os.getpid()}.tmp")
        with contextlib.suppress(OSError):  # then the count begins again
            try:
                fresh.write_bytes(orjson.dumps([asdict(one) for one in deaths]))
                fresh.replace(self._deaths)
            except OSError:
                fresh.unlink(missing_ok=True)


@lru_cache(maxsize=1024)
def _text(query: str, step: str) -> bytes:
    return f"{query}\0{step}".encode()[: _SIZE - _HEAD.size]


def _mapped(path: Path) -> mmap.mmap:
    """The file as memory of a fixed size, created if it is missing.

    Where that fails, a warning is logged and the memory has no file, so that it ends with the process.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            os.ftruncate(file, _SIZE)
            return mmap.mmap(file, _SIZE)
        finally:
            os.close(file)
    except OSError as error:
        _LOG.warning("%s: %s; a query that ends its process again and again is not found out", path, error)
        return mmap.mmap(-1, _SIZE)
