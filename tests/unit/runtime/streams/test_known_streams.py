"""The content of `streams`, where something else writes to it."""

from __future__ import annotations

import pytest

from saffron.engine.events.schema_record import schema_to_record
from saffron.records.table import Unreadable
from saffron.records.version import VersionRecord
from saffron.runtime.log.topics import Topics
from saffron.runtime.streams.known_streams import KnownStreams
from saffron.runtime.streams.schema_versions import is_complete
from saffron.schema.schema import Kind, Schema

PRICES = Schema({"price": Kind.FLOAT}, {"Quote": ("price",)}, {})


def known(*values: bytes) -> KnownStreams:
    found = KnownStreams(Topics("t."))
    first = VersionRecord("s", 3, schema_to_record(PRICES))
    for offset, value in enumerate((first.encode(), *values)):
        found.apply(b"s/schema", value, offset)
    return found


@pytest.mark.parametrize("value", [b"zz", b"{}", b'{"record":1,"stream":"s","version":4,"schema":{"kinds":7}}'])
def test_a_version_that_cannot_be_read_is_written_anew_with_all_that_was_known(value: bytes) -> None:
    """Kafka forgets the one before."""
    version = known(value).versions.of("s")
    assert version is not None
    assert not is_complete(version, PRICES), "so that windowing writes the next"
    assert (version.number, version.combined) == (3, PRICES)
    following = VersionRecord("s", 4, schema_to_record(version.combined)).encode()
    healed = known(value, following).versions.of("s")
    assert healed is not None
    assert is_complete(healed, PRICES)


def test_a_version_of_no_stream_that_cannot_be_read_is_none() -> None:
    found = KnownStreams(Topics("t."))
    assert isinstance(found.apply(b"s/schema", b"zz", 0), Unreadable)
    assert found.versions.of("s") is None
