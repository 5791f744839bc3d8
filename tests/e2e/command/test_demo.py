"""`saffron demo`, as the README promises it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command.command import Command

pytestmark = [pytest.mark.kafka, pytest.mark.slow]


@pytest.fixture
def saffron(tmp_path: Path) -> Command:
    return Command(tmp_path / "data")


def test_the_demo_shows_results_and_leaves_nothing_running(saffron: Command) -> None:
    done = saffron.run("demo", "--events", "10000", "--data", str(saffron.data))
    lines = done.stdout.splitlines()
    assert any(line.startswith("rally ") and " quotes up from " in line for line in lines)
    assert any(line.startswith("downtrends ") and " down-trends " in line for line in lines)
    assert any(line.startswith("10,000 events in ") for line in lines)
    summary = {line.split()[0]: line.split() for line in lines if line.startswith(("rally", "downtrends"))}
    assert int(summary["rally"][1].replace(",", "")) > 500
    assert summary["downtrends"][3] == "ms"
    assert "saffron replay -q FILE EVENTS" in done.stdout
    assert saffron.survivors() == []
