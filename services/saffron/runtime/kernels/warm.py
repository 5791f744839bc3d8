"""Compilation of a query's kernels in a separate process, so that the stream never waits (threads would stall it).

    python -m saffron.runtime.kernels.warm KERNELS OPERATOR MODULES

The child starts with the first query: a service without any has none, and no second Numba in memory. It reads
one request per line. It applies one block with the query and an event of each type, and answers. The
kernels end in Numba's cache on disk, from which the service loads them in milliseconds. The child stays for later
requests, which need not wait for its imports.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import orjson

from saffron.engine.events.block import Block, Control
from saffron.engine.events.columns import Column, Columns
from saffron.engine.events.schema_record import schema_from_record
from saffron.engine.kernels import jit
from saffron.errors import one_line
from saffron.language.cost.shedders import AUTO
from saffron.runtime.process.own_modules import import_modules
from saffron.schema.schema import Kind, Schema

_LOG = logging.getLogger(__name__)
_DONE = b"done\n"
_REQUESTS = 100  # of one child: machine code is never unloaded


@dataclass(frozen=True)
class Request:
    """A request to compile a query.

    `operator`: "module:Class" of the engine. `schema`: its record. `shed`: the query's shedder. `makers`: names and
    texts of queries whose results it may read, in binding order.
    """

    operator: str
    name: str
    version: int
    text: str
    stream: str
    schema: Mapping[str, Any]
    shed: str = AUTO
    makers: tuple[tuple[str, str], ...] = ()

    def outdated(self, other: Request) -> bool:
        """True if a newer version of the query, `other`, makes this request needless."""
        same = (self.text, self.shed) == (other.text, other.shed)
        newer = (self.name, self.stream) == (other.name, other.stream) and self.version < other.version
        return newer and (not same or self.schema == other.schema)

    def block(self) -> Block:
        """A block that makes the operator compile all that the query needs."""
        added = [*((name, text, AUTO) for name, text in self.makers), (self.name, self.text, self.shed)]
        shared = {"op": "add", "version": self.version, "slot": 0, "from": "now"}
        adds = (Control(0, "query", {**shared, "name": name, "text": text, "shed": shed}) for name, text, shed in added)
        controls = (Control(0, "schema", {"schema": self.schema}), *adds)
        columns = _one_of_each(schema_from_record(self.schema))
        return Block(columns, 0, len(columns), int(columns.ts[-1]) if len(columns) else 0, end=True, controls=controls)


@dataclass(frozen=True)
class Warmed:
    """A finished request.

    `failure`: the error, or ""; also "" for an invalid query, which the operator reports itself.
    """

    request: Request
    failure: str = ""


class Warmer(Protocol):
    """A compiler of requests that never keeps its caller waiting."""

    def prepare(self) -> None:
        """Starts what the first request would wait for."""

    def ask(self, request: Request) -> None:
        """Requests a compilation. A waiting request for an older version of the query is dropped."""

    def step(self) -> list[Warmed]:
        """The requests finished since the last call."""

    def close(self) -> None: ...


class Warming:
    """Compiles requests one after another in a child process. `step` never waits."""

    def __init__(self, kernels: Path, operator: str, modules: str = "") -> None:
        """Begin without a child.

        `kernels`: their directory. `operator`: of later requests; the child imports it and `modules` (`own_modules`)
        first.
        """
        self._command = [sys.executable, "-m", "saffron.runtime.kernels.warm", str(kernels), operator, modules]
        self._waiting: list[Request] = []
        self._running: Request | None = None
        self._died = False
        self._sent = 0
        self._child: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Starts the child, if there is none."""
        if self._child is None:
            self._child = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._sent = 0

    def ask(self, request: Request) -> None:
        """Requests a compilation. A waiting request for an older version of the query is dropped."""
        self._waiting = [one for one in self._waiting if not one.outdated(request)]
        self._waiting.append(request)

    def step(self) -> list[Warmed]:
        """The requests finished since the last call."""
        done: list[Warmed] = []
        if self._running is not None and self._child is not None:
            if not self._answered(self._child, 0.0):
                return done
            done = self._outcome(self._child, self._running)
            self._running = None
        if self._waiting:
            self._send(self._waiting.pop(0))
        return done

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for the child's answer to its present request, if there is one."""
        if self._running is not None and self._child is not None:
            self._answered(self._child, seconds)

    def close(self) -> None:
        self._end()
        self._running = None

    # ------------------------------------------------------------ the child

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    @staticmethod
    def _answered(child: subprocess.Popen[bytes], seconds: float) -> bool:
        """True if there is an answer to read, or the child has ended."""
        assert child.stdout is not None
        return bool(select.select([child.stdout], [], [], seconds)[0])

    def _send(self, request: Request) -> None:
        """Gives the child a request, without waiting for the answer. A child is replaced after 100 requests.

        A child that has died takes no request; `step` then finds its end.
        """
        if self._sent == _REQUESTS:
            self._end()
        self.prepare()
        self._sent += 1
        self._running = request
        assert self._child is not None
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the child is gone: `step` finds no answer
            self._child.stdin.write(orjson.dumps(request) + b"\n")
            self._child.stdin.flush()

    def _outcome(self, child: subprocess.Popen[bytes], request: Request) -> list[Warmed]:
        """The finished request; none if it is tried again, since one death of the child proves nothing."""
        assert child.stdout is not None
        answer = child.stdout.readline()
        if answer == _DONE:
            self._died = False
            return [Warmed(request)]
        failure = answer.decode().strip()
        _LOG.warning("compiling query %s ahead of time failed: %s", request.name, failure or "gone")
        if not answer:
            self._end()
            if not self._died:
                self._died = True
                self._waiting.insert(0, request)
                return []
            failure = "compiling: the process died in it twice"
        self._died = False
        return [Warmed(request, failure)]


def _one_of_each(schema: Schema) -> Columns:
    """An event of each type, with all attributes null."""
    count = len(schema.types)
    seq = np.arange(count, dtype=np.int64)
    attributes = {
        name: Column(kind.column, np.full(count, kind.null, kind.dtype)) for name, kind in schema.kinds.items()
    }
    types = Column(Kind.STRING, np.arange(count, dtype=np.int32), tuple(schema.types))
    return Columns(seq, seq.copy(), seq.copy(), types, attributes)


def main() -> None:
    """The main function of the child. Requests come on standard input; the arguments are those of `Warming`."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever else is printed is no answer
    jit.use_directory(Path(sys.argv[1]))
    import_modules(sys.argv[3])
    importlib.import_module(sys.argv[2].partition(":")[0])
    for line in sys.stdin.buffer:
        try:
            failure = _compile(Request(**orjson.loads(line)))
        except Exception as error:  # the query's fault or ours: either way the next one is compiled
            failure = f"compiling: {type(error).__name__}: {one_line(error)}"
        answers.write(" ".join(failure.split()).encode() + b"\n" if failure else _DONE)


def _compile(request: Request) -> str:
    """The query's failure, or ""."""
    module, _, name = request.operator.partition(":")
    operator = getattr(importlib.import_module(module), name)(partition=0, stream=request.stream)
    results = operator.apply(request.block())
    results.json(0, len(results))
    own = (one.reason for one in operator.failures() if one.name == request.name)
    return next(own, "")


if __name__ == "__main__":
    main()
