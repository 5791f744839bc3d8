"""Compiles a query's kernels in a process of its own, so that the stream never waits: threads would stall each other.

    python -m saffron.runtime.warm < request.json

The child applies one block with the query and an event of each type; the kernels that this makes end in Numba's cache
on disk, from which the service then loads them in milliseconds.
"""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson

from saffron.engine import jit
from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema import NULL_CODE, NULL_INT, Kind, Schema
from saffron.engine.events.schema_record import schema_from_record
from saffron.runtime.own_modules import import_modules

_LOG = logging.getLogger(__name__)
_DTYPES = {Kind.INT: np.int64, Kind.FLOAT: np.float64, Kind.BOOL: np.int8, Kind.STRING: np.int32}
_NULLS = {Kind.INT: NULL_INT, Kind.FLOAT: np.nan, Kind.BOOL: -1, Kind.STRING: NULL_CODE}


@dataclass(frozen=True)
class Request:
    """`operator`: "module:Class" of the engine. `schema`: its record. `makers`: names and texts of the queries whose
    results it may read, in the order in which they can be bound.
    """

    operator: str
    name: str
    version: int
    text: str
    stream: str
    schema: Mapping[str, Any]
    makers: tuple[tuple[str, str], ...] = ()

    def outdated(self, other: Request) -> bool:
        """Whether the other one, of a newer version, makes this needless: another text, or the same for this schema."""
        newer = (self.name, self.stream) == (other.name, other.stream) and self.version < other.version
        return newer and (self.text != other.text or self.schema == other.schema)

    def block(self) -> Block:
        """The block that makes the operator compile everything that the query needs."""
        added = [*self.makers, (self.name, self.text)]
        shared = {"op": "add", "version": self.version, "slot": 0, "from": "now"}
        adds = (Control(0, "query", {**shared, "name": name, "text": text}) for name, text in added)
        controls = (Control(0, "schema", {"schema": self.schema}), *adds)
        columns = _one_of_each(schema_from_record(self.schema))
        return Block(columns, 0, len(columns), int(columns.ts[-1]) if len(columns) else 0, end=True, controls=controls)


class Warmer(Protocol):
    """Compiles requests without keeping the caller waiting."""

    def ask(self, request: Request) -> None:
        """Compile this; an older version of the query that still waits need not be compiled any more."""

    def step(self) -> list[Request]:
        """Requests that are done since the last call."""

    def close(self) -> None: ...


class Warming:
    """Compiles requests one after the other, each in a child; `step` never waits."""

    def __init__(self, kernels: Path, modules: str = "") -> None:
        """`kernels`: where they are kept. `modules`: what the child imports first (`own_modules`)."""
        self._kernels = kernels
        self._modules = modules
        self._waiting: list[Request] = []
        self._running: tuple[Request, subprocess.Popen[bytes]] | None = None

    def ask(self, request: Request) -> None:
        """Compile this; if an older version of the query still waits, it need not be compiled any more."""
        self._waiting = [one for one in self._waiting if not one.outdated(request)]
        self._waiting.append(request)

    def step(self) -> list[Request]:
        """Requests that are done. One that failed is done, too: the operator itself says what is wrong with it."""
        done: list[Request] = []
        if self._running is not None:
            request, child = self._running
            status = child.poll()
            if status is None:
                return done
            if status != 0:
                _LOG.warning("compiling query %s ahead of time failed (status %d)", request.name, status)
            self._running = None
            done.append(request)
        if self._waiting:
            self._start(self._waiting.pop(0))
        return done

    def wait(self, seconds: float) -> None:
        """Wait for the child at work, if there is one."""
        if self._running is not None:
            self._running[1].wait(seconds)

    def close(self) -> None:
        if self._running is not None:
            self._running[1].kill()
            self._running[1].wait()
            self._running = None

    def _start(self, request: Request) -> None:
        command = [sys.executable, "-m", "saffron.runtime.warm", str(self._kernels), self._modules]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert child.stdin is not None
        child.stdin.write(orjson.dumps(request))
        child.stdin.close()
        self._running = (request, child)


def _one_of_each(schema: Schema) -> Columns:
    """An event of each type, all attributes null."""
    count = len(schema.types)
    seq = np.arange(count, dtype=np.int64)
    attributes = {
        name: Column(kind, np.full(count, _NULLS[kind], dtype=_DTYPES[kind])) for name, kind in schema.kinds.items()
    }
    types = Column(Kind.STRING, np.arange(count, dtype=np.int32), tuple(schema.types))
    return Columns(seq, seq.copy(), seq.copy(), types, attributes)


def main() -> None:
    """The child: one request on standard input; its arguments are the directory of kernels, and modules to import."""
    jit.use_directory(Path(sys.argv[1]))
    import_modules(sys.argv[2])
    request = Request(**orjson.loads(sys.stdin.buffer.read()))
    module, _, name = request.operator.partition(":")
    operator = getattr(importlib.import_module(module), name)(partition=0, stream=request.stream)
    results = operator.apply(request.block())
    results.json(0, len(results))


if __name__ == "__main__":
    main()
