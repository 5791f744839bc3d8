"""Kernels compiled ahead: the processes share all pieces, and what one of them cannot do is said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from saffron.engine.kernels import jit
from saffron.errors import SaffronError
from saffron.runtime.kernels import library


def test_processes_share_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    names = list("abcdefg")
    monkeypatch.setattr(library, "pieces", lambda: {name: lambda name=name: done.append(name) for name in names})
    told = [name for number in range(3) for name in library.compile_here(number, 3)]
    assert told == done
    assert sorted(done) == names


def test_pieces_are_what_no_query_decides() -> None:
    found = library.pieces()
    assert {"ordered index", "messages of merged streams"} <= found.keys()
    assert jit.unprepared().keys() <= found.keys()


def test_a_process_that_fails_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "use_directory", lambda directory: None)
    monkeypatch.setattr(library, "pieces", lambda: {"a": lambda: None})
    monkeypatch.setattr(sys, "executable", "/bin/false")
    told: list[tuple[int, int]] = []
    with pytest.raises(SaffronError, match="failed"):
        library.compile_all(tmp_path, lambda done, total: told.append((done, total)), processes=2)
    assert told == [(0, 1)]
