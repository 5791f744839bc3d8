"""`map` of a definition's type: numbers by their values, however they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

import saffron

DEFINITION = """stream: s
sources:
- topic: t
  type: {field: k, map: {KEY: One, 2: Other}}
  ts: {field: at, format: epoch_ms}
"""


@pytest.mark.parametrize("key", ["1", "1.0", "1e0", '"1"'])
@pytest.mark.parametrize("value", [b"1", b"1.0", b"10e-1", b'"1"'])
def test_one_number_is_one_key(key: str, value: bytes, tmp_path: Path) -> None:
    definition, events = tmp_path / "s.yaml", tmp_path / "t.ndjson"
    definition.write_text(DEFINITION.replace("KEY", key))
    events.write_bytes(b'{"k":%s,"at":5}\n{"k":%s,"at":6}\n' % (value, value.replace(b"1", b"2", 1)))
    text = "FROM s PATTERN SEQ(One a, Other b) WITHIN 1 s"
    assert len(list(saffron.replay(text, {"t": events}, stream=definition))) == 1
