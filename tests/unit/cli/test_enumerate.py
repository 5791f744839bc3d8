"""`saffron enumerate`: matches from compressed results, whole and in chunks."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from saffron.cli.queries.enumerate import enumerate as enumerate_results
from saffron.errors import SaffronError

NODES = [["a", 0, [-1]], ["b", 1, [0]], ["b", 2, [0, 1]], ["c", 3, [1, 2]]]
HEAD = {"id": "f0", "query": "q", "partition": 0, "key": {}, "start": 1, "end": 4, "window": None}
WHOLE = HEAD | {"count": 3, "variables": ["a", "b[]", "c"], "nodes": NODES}
EVENTS = [{"a": 0, "b": [1, 2], "c": 3}, {"a": 0, "b": [1], "c": 3}, {"a": 0, "b": [2], "c": 3}]


def lines(results: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(result) + b"\n" for result in results)


def shown(capfdbinary: pytest.CaptureFixture[bytes]) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in capfdbinary.readouterr().out.splitlines()]


def test_each_path_is_a_match(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    other = {"id": "e1", "query": "p", "events": {}}
    (tmp_path / "r.ndjson").write_bytes(lines([WHOLE]) + b"\n" + lines([other]))
    enumerate_results([str(tmp_path / "r.ndjson")])
    *found, last = shown(capfdbinary)
    assert [one["events"] for one in found] == EVENTS
    assert {(one["id"], one["query"], one["window"]) for one in found} == {("f0", "q", None)}
    assert last == other


def test_chunks_are_put_together(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    chunks = [WHOLE | {"chunk": k, "chunks": 2, "nodes": nodes} for k, nodes in enumerate([NODES[:3], NODES[3:]])]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines(chunks[::-1]))))
    enumerate_results(["-"], limit=2)
    assert [one["events"] for one in shown(capfdbinary)] == EVENTS[:2]


def test_an_end_as_another_variable(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    nodes = [["a", 5, [-1]], ["b", 6, [0]], ["c", 6, [0, -1]], [None, None, [1, 2]]]
    result = HEAD | {"count": 3, "variables": ["a", "b", "c[]"], "nodes": nodes}
    (tmp_path / "r.ndjson").write_bytes(lines([result]))
    enumerate_results([str(tmp_path / "r.ndjson")])
    assert [one["events"] for one in shown(capfdbinary)] == [
        {"a": 5, "b": 6, "c": []},
        {"a": 5, "b": None, "c": [6]},
        {"a": None, "b": None, "c": [6]},
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\n{", "line 2: not a result: "),
        (b"[1]", "line 1: not a result: it has no id"),
        (lines([WHOLE | {"chunk": 0, "chunks": 3}]), "result f0 has 1 of 3 chunks only"),
    ],
)
def test_what_cannot_be_listed_is_said(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "r.ndjson").write_bytes(content)
    with pytest.raises(SaffronError, match=said):
        enumerate_results([str(tmp_path / "r.ndjson")])


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SaffronError, match=r"cannot read .*none"):
        enumerate_results([str(tmp_path / "none")])
