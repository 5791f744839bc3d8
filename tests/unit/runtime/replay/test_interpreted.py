"""A replay that begins interpreted: when it compiles, and when it need not."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson
import pytest

from saffron.engine.events.raw import RawBatch, batch_of_values
from saffron.engine.kernels import jit
from saffron.runtime.process.config import user_cache_directory
from saffron.runtime.replay import fused
from saffron.runtime.replay.fused import Query
from saffron.runtime.replay.replay import Replay

TEXTS = {
    "match": "PATTERN SEQ(A a, B+ b[], A c) WHERE [k] AND b[i].x > a.x WITHIN 1 s RETURN count(b[]) AS n",
    "trend": "PATTERN SEQ(A+, B) WHERE [k] AND A.x < NEXT(A).x GROUP BY k WITHIN 1 s SLIDE 500 ms RETURN k, COUNT(*)",
}


def events(count: int) -> RawBatch:
    bodies = ({"type": "ABA"[at % 3], "ts": 7 * at, "k": at % 2, "x": 31 * at % 17} for at in range(count))
    return batch_of_values([orjson.dumps(body) for body in bodies])


def lines(run: Replay, batch: RawBatch) -> list[bytes]:
    return [text for merged in run.results([batch]) for texts in merged.json() for text in texts]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Notes each time that engines compile. No kernel is on disk."""
    monkeypatch.setenv("SAFFRON_CACHE", str(tmp_path))
    monkeypatch.setattr(jit, "_directory", jit.directory())
    for name in [name for name in sys.modules if name.startswith("kernel_")]:
        monkeypatch.delitem(sys.modules, name)
    noted: list[str] = []
    compile_now = fused.Engines.compile

    def noting(engines: fused.Engines) -> None:
        noted.append("now")
        compile_now(engines)

    monkeypatch.setattr(fused.Engines, "compile", noting)
    return noted


@pytest.mark.parametrize("name", TEXTS)
def test_few_events_are_answered_without_machine_code(
    name: str, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "INTERPRETED_SECONDS", 60.0)
    assert len(lines(Replay([Query(name, TEXTS[name])]), events(60))) > 3
    assert not compiled
    assert not list(Path(user_cache_directory() / "kernels").glob("**/*.nbi"))


def test_many_events_are_worth_compiling_once_and_then_the_code_is_there(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fused, "INTERPRETED_SECONDS", 0.0)
    monkeypatch.setattr(fused, "INTERPRETED_RECORDS", 50)
    queries = [Query(name, text) for name, text in TEXTS.items()]
    first = lines(Replay(queries), events(200))
    assert compiled == ["now"]
    assert lines(Replay(queries), events(200)) == first
    assert compiled == ["now"]  # found on disk, the kernels were used from the first event on


def test_what_is_to_be_compiled_at_once_is(compiled: list[str]) -> None:
    found = lines(Replay([Query("q", TEXTS["match"])], interpret=False), events(60))
    assert list(Path(user_cache_directory() / "kernels").glob("**/*.nbi"))
    assert lines(Replay([Query("q", TEXTS["match"])]), events(60)) == found
    assert not compiled
