"""The bench of tests of result chains."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.runtime.results.chain_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
