"""`saffron replay --latency-bound`: options, figures, models in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.unit.cli.test_main import saffron

QUERY = "PATTERN SEQ(A a, B b, C c) WHERE skip-till-next-match { a.x < 7 } WITHIN 300 EVENTS"


@pytest.fixture
def events(tmp_path: Path) -> str:
    random = np.random.default_rng(0)
    kinds, numbers = random.choice(list("ABCD"), 5000, p=[0.3, 0.3, 0.05, 0.35]), random.integers(0, 10, 5000)
    rows = (
        {"type": kind, "ts": 1000 * i, "x": x} for i, (kind, x) in enumerate(zip(kinds, numbers.tolist(), strict=True))
    )
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"".join(orjson.dumps({**row, "type": str(row["type"])}) + b"\n" for row in rows))
    return str(path)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rate", "1.4x"], "--rate goes with --latency-bound"),
        (["--truth"], "--truth goes with --latency-bound"),
        (["--cost", "5"], "--cost goes with --latency-bound"),
        (["--shed", "pspice"], "--shed goes with --latency-bound"),
        (["--shed", "bogus", "--train", "0.7"], "there is no shedder 'bogus'"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--shed", "bl"], "no shedder: choose gspice-h"),
        (["--train", "0.4"], "--train goes with --latency-bound"),
        (["--seed", "3"], "--seed goes with --latency-bound"),
        (["--policy", "catch-up"], "--policy goes with --latency-bound"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--seed", "-1"], "-1 is not in the range"),
        (["--why", "x=1", "--latency-bound", "1s", "--shed", "pspice"], "leave --latency-bound, --shed out"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--truth"], "--truth adds recall and precision to --stats"),
        (["--why-events", "3"], "--why-events goes with --why KEY"),
        (["--latency-bound", "1s"], "--latency-bound needs a --rate"),
        (["--latency-bound", "1s", "--rate", "fast"], "--rate fast: give events a second"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--shed", "pspise"], "pspice"),
        (["--latency-bound", "0", "--rate", "1.4x"], "it is at least 1 ms"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--policy", "wait"], "'wait' is not one of 'shed', 'catch-up'"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--cost", "a=b"], "give nanoseconds above 0"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--train", "2"], "'2' is not a number above 0 and below 1"),
        (["--latency-bound", "1s", "--rate", "1.4x", "--models", "/nowhere"], "cannot read /nowhere"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], events: str, options: list[str], told: str
) -> None:
    assert saffron(monkeypatch, "replay", "-e", QUERY, events, *options) in (1, 2)
    shown = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert told in shown


def test_figures_and_models(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], events: str, tmp_path: Path
) -> None:
    asked = ["--latency-bound", "1s", "--rate", "2x", "--shed", "pspice", "--cost", "200000", "--truth", "--stats"]
    file = tmp_path / "models.ndjson"
    figures = []
    for models in (["--save-models", str(file)], ["--models", str(file)]):
        assert saffron(monkeypatch, "replay", "-e", QUERY, events, "--count", *asked, *models) == 0
        shown = capsys.readouterr()
        figures.append(orjson.loads(shown.err.splitlines()[-1]))
        assert orjson.loads(shown.out) == {"query": "query", "results": figures[-1]["results"]["query"]}
    first, second = figures
    assert set(first["latency_ms"]) == {"p50", "p99", "p999", "max"}
    assert first["latency_ms"]["p999"] < 1000
    assert 0 < first["recall"] < 1 == first["precision"]
    assert first["dropped_partial_matches"] > 0 == first["dropped_events"]
    assert set(first["estimated_loss"]) == set(first["queries"]) == {"query"}
    assert first["recall"] == second["recall"]
    assert first["seconds"] > 0
    assert first["events_per_second"] == pytest.approx(5000 / (first["decode_seconds"] + first["seconds"]), rel=0.01)
    assert first["model"] == {"query": [0, 0]}
    file.write_bytes(b"{}\n")
    assert saffron(monkeypatch, "replay", "-e", QUERY, events, *asked, "--models", str(file)) == 1
    assert "line 1: no record of a model" in capsys.readouterr().err
    file.write_bytes(b"")
    assert saffron(monkeypatch, "replay", "-e", QUERY, events, *asked, "--models", str(file)) == 1
    assert "has no models: leave --models out to train" in " ".join(capsys.readouterr().err.split())
