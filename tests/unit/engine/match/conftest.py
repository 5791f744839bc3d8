"""What tests of the match engine change of it."""

from __future__ import annotations

import pytest

from saffron.engine.match.core import merged
from saffron.engine.match.merging import merge


@pytest.fixture
def _any_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a key are compared as soon as there are two (of kernels as plain Python)."""
    monkeypatch.setattr(merged, "LEAST", 2)
    monkeypatch.setattr(merge, "LEAST", 1)
