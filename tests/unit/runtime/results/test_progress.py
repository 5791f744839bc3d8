"""Places that records name: read back as they were written, and nothing else is one."""

from __future__ import annotations

import pytest

from saffron.runtime.log import Record
from saffron.runtime.results.progress import HEADER, WrittenPlace, written_place


def record(*headers: tuple[str, bytes]) -> Record:
    return Record("t", 0, 0, 0, None, b"", headers)


@pytest.mark.parametrize("topic", ["", "cl7NsppJRkugI8XbJFfQQQ", "cl7Nspp/Rkug+8XbJF/fQQ", "////////////////////AA"])
def test_a_place_is_read_as_it_was_written(topic: str) -> None:
    for place in (WrittenPlace(topic, 3, 17, 2), WrittenPlace(topic, 3, 17, 2, b'[["q",1,17,null,null]]')):
        assert written_place(record(("ce_id", b"1"), *place.headers())) == place


@pytest.mark.parametrize("value", [b"", b"id", b"id/1/2", b"id/1/2/x", b"\xff/1/2/", b"id/1/2/3.5"])
def test_a_header_of_somebody_else_is_none(value: bytes) -> None:
    assert written_place(record((HEADER, value))) is None
    assert written_place(record(("other", b"id/1/2/3"))) is None
