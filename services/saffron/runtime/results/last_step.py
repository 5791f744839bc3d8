"""What a process was doing for which query, in a file that outlives it: the query in which it died, and how often.

Before a step of a query is taken its name is written to memory that is mapped from the file, which costs no call of the
system; the kernel keeps it whatever ends the process. One death proves nothing, since anything may end a process. A
second one within the same query and the same block is the query's.
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
"""Length of the text behind it (0: no query is at work), offset of the block, version of the query."""
_KEPT = 64
ENOUGH = 2


@dataclass(frozen=True)
class Death:
    """A process died in a step of a query, with the block at `offset`; `times`: within this query and block so far."""

    query: str
    version: int
    step: str
    offset: int
    times: int = 1

    @property
    def shared(self) -> bool:
        """Whether the step was one of several queries at once."""
        return is_together(self.step)

    @property
    def proven(self) -> bool:
        """Whether the query has ended the process."""
        return self.times >= ENOUGH and not self.shared

    def is_like(self, other: Death) -> bool:
        """Whether both were within the same query and block."""
        mine, others = replace(self, times=0, step=""), replace(other, times=0, step="")
        return mine == others and self.shared == other.shared

    def told(self) -> str:
        """In words."""
        return f"{self.step}: its process died in it {self.times} times, with the block at offset {self.offset}"


class LastStep:
    """The file of one partition; without one where it cannot be made."""

    def __init__(self, directory: Path) -> None:
        self._deaths = directory / "deaths.json"
        self._map = _mapped(directory / "step")

    def at(self, offset: int) -> None:
        """The block that steps are taken with from now on."""
        self._offset = offset

    def note(self, query: str, version: int, step: str) -> None:
        """A step is about to be taken."""
        text = _text(query, step)
        end = _HEAD.size + len(text)
        self._map[:2] = b"\0\0"  # else one that dies here would leave half of one name and half of another
        self._map[_HEAD.size : end] = text
        _HEAD.pack_into(self._map, 0, len(text), self._offset, version)

    def over(self) -> None:
        """No query is at work."""
        self._map[:2] = b"\0\0"

    def died(self, committed: int) -> list[Death]:
        """The death of the last process, if that was in a query, which counts it; and those that are known behind the
        offset up to which all is committed."""
        known, last = self._known(), self._last()
        self.over()
        if last is not None:
            same = [one for one in known if one.is_like(last)]
            last = replace(last, times=1 + max((one.times for one in same), default=0))
            known = [*(one for one in known if one not in same), last][-_KEPT:]
            self._keep(known)
        return [one for one in known if one is last or one.offset >= committed]

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
        with contextlib.suppress(OSError):  # then they are counted anew
            fresh.write_bytes(orjson.dumps([asdict(one) for one in deaths]))
            fresh.replace(self._deaths)


@lru_cache(maxsize=1024)
def _text(query: str, step: str) -> bytes:
    return f"{query}\0{step}".encode()[: _SIZE - _HEAD.size]


def _mapped(path: Path) -> mmap.mmap:
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
