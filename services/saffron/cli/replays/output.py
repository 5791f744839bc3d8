"""The output of `saffron replay`: results as lines, as a table or as counts, and dead letters."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol, Self

import orjson

from saffron.cli import console
from saffron.counted import counted
from saffron.engine.operators.result_values import read_result, within_64_bits
from saffron.errors import InputError
from saffron.runtime.process.clock_watch import wall_ms

if TYPE_CHECKING:
    from saffron.cli.replays.places import Places
    from saffron.engine.windows.dead_letters import DeadLetter
    from saffron.runtime.replay.both import Merged


_DAY = 86_400_000
"""A window that begins nearer to 1970 than this is one of made-up times, or of positions: no date is printed."""


class Sink(Protocol):
    """The receiver of results."""

    def take(self, merged: Merged) -> None: ...

    def close(self, names: Sequence[str]) -> None: ...


class Counts:
    """The sink of `--count`: one object per query, in the order of the queries."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def take(self, merged: Merged) -> None:
        self._counts.update(merged.counts())

    def close(self, names: Sequence[str]) -> None:
        for name in names:
            console.print_json({"query": name, "results": self._counts[name]})


class Lines:
    """The sink of JSON lines, with the time of detection added."""

    def take(self, merged: Merged) -> None:
        if not len(merged):
            return
        tail = b',"detected_at":%d}\n' % wall_ms()
        for results in merged.json():
            sys.stdout.buffer.write(b"".join([part for result in results for part in (result[:-1], tail)]))
        sys.stdout.buffer.flush()

    def close(self, names: Sequence[str]) -> None:
        pass


class TerminalLines:
    """The sink of a terminal: one readable line per result."""

    def __init__(self) -> None:
        self._shown = 0

    def take(self, merged: Merged) -> None:
        for results in merged.json(256):
            for result in results:
                if self._shown % 40 == 0:
                    print(console.bold(f"{'query':<16} {'when (UTC)':<36} {'key':<20} what"))
                self._shown += 1
                print(_line(read_result(result)))

    def close(self, names: Sequence[str]) -> None:
        console.say(counted(self._shown, "result"))


class DeadLetterFile:
    """The receiver of dead letters for `--dead-letters FILE` and `--strict`; it counts them in any case.

    `places`: the places of events in the files.
    """

    def __init__(self, path: Path | None, strict: bool, places: Places) -> None:
        self.written = 0
        self._places = places
        self._first = ""
        self._path = path
        self._strict = strict
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            with self._naming_the_file():
                self._file = self._path.open("wb")
        return self

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        """Makes an error of writing an InputError that names the file."""
        try:
            yield
        except OSError as error:
            raise InputError(f"cannot write {self._path}: {error.strerror}") from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with self._naming_the_file():
                self._file.close()

    def write(self, letters: Iterable[DeadLetter]) -> None:
        """Writes the dead letters since the last call. InputError: there is one, and it is strict."""
        for letter in letters:
            self.written += 1
            place = letter.place or self._places.of(letter.offset)
            self._first = self._first or f"{place}: {letter.reason}: {letter.detail}"
            if self._file is not None:
                with self._naming_the_file():
                    self._file.write(orjson.dumps(_row(letter)) + b"\n")
            if self._strict:
                raise InputError(f"{self._first}\n{_shown(letter.value)}")

    def report(self) -> str:
        """The message on them: their number, the first one, and where they are; "" if there are none."""
        if not self.written:
            return ""
        kept = "--dead-letters FILE keeps them" if self._path is None else f"they are in {self._path}"
        were = counted(self.written, "event was", "events were")
        return f"{were} bad or late ({kept}, with the reason); the first: {self._first}"


def _line(result: dict[str, Any]) -> str:
    """One result on one line: its values (RETURN), or the number of events of each variable."""
    low, high = result["window"] or (result["start"], result["end"])
    span = f"{console.moment(low)} + {(high - low) / 1000:,.3f} s" if abs(low) > _DAY else f"{low} to {high}"
    key = " ".join(f"{value}" for value in (result.get("key") or result.get("group") or {}).values())
    values = ", ".join(f"{name} = {value}" for name, value in _values(result).items())
    return f"{result['query']:<16} {span:<36} {key:<20} {values}"


def _values(result: dict[str, Any]) -> dict[str, Any]:
    """The values of a result by name, for people: those of RETURN, else the number of events of each variable.

    A compressed result gives its number of matches, a timeout the variables that it waits for.
    """
    if "nodes" in result:
        return {"matches": result["count"]} | {name: result[name] for name in ("chunk", "chunks") if name in result}
    bound = {name: len(one) if isinstance(one, list) else 1 for name, one in result.get("events", {}).items() if one}
    if result.get("timeout"):
        return {**bound, "waiting for": " or ".join(result["waiting"])}
    return within_64_bits(result["return"]) or bound


def _row(letter: DeadLetter) -> dict[str, Any]:
    return {
        "reason": letter.reason,
        "detail": letter.detail,
        "position": letter.place or letter.offset,
        "line": (letter.value or b"").decode("utf-8", "backslashreplace"),
    }


def _shown(value: bytes | None, most: int = 200) -> str:
    text = (value or b"").decode("utf-8", "backslashreplace")
    return text if len(text) <= most else text[:most] + " ..."
