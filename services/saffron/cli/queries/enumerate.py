"""`saffron enumerate`: the matches of compressed results, one a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import count, islice
from typing import Annotated, Any

import orjson
import typer

from saffron.engine.match.output.listing import listed, whole
from saffron.engine.operators.result_values import read_result
from saffron.errors import SaffronError


def enumerate(  # noqa: A001  the command's name
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help='Results, one a line; "-": standard input.')],
    limit: Annotated[int | None, typer.Option(min=0, help="List no more than so many matches of each result.")] = None,
) -> None:
    """List the matches of results of OUTPUT COMPRESSED, each as it is asked for: by variable the positions (seq).

    Other results are left as they are.

    Examples:

        saffron replay -q pairs.saf day.ndjson | saffron enumerate -

        saffron enumerate --limit 10 results.ndjson
    """
    for result in whole(_graphs(files)):
        shared = {name: result[name] for name in ("id", "query", "partition", "key", "window")}
        for match in islice(listed(result), limit):
            sys.stdout.buffer.write(orjson.dumps({**shared, "events": match}) + b"\n")
    sys.stdout.buffer.flush()


def _graphs(files: list[str]) -> Iterator[dict[str, Any]]:
    """The results of OUTPUT COMPRESSED; the lines of others are written on the way."""
    for name in files:
        with sys.stdin.buffer if name == "-" else _opened(name) as lines:
            for number, line in zip(count(1), lines, strict=False):
                if not line.strip():
                    continue
                result = _result(line, name, number)
                if "nodes" in result:
                    yield result
                else:
                    sys.stdout.buffer.write(line.rstrip() + b"\n")


def _opened(name: str) -> Any:
    try:
        return open(name, "rb")
    except OSError as error:
        raise SaffronError(f"cannot read {name}: {error.strerror}") from error


def _result(line: bytes, name: str, number: int) -> dict[str, Any]:
    """The result on a line of a file. SaffronError: it is no result."""
    try:
        found = read_result(line)
    except json.JSONDecodeError as error:
        raise SaffronError(f"{name}, line {number}: not a result: {error}") from error
    if not isinstance(found, dict) or "id" not in found:
        raise SaffronError(f"{name}, line {number}: not a result: it has no id")
    return found
