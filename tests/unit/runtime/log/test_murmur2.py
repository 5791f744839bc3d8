"""The hash that places keys, against the vectors that Apache Kafka's own client is tested with (UtilsTest)."""

from __future__ import annotations

import random

import confluent_kafka
import pytest

from saffron.runtime.log.murmur2 import murmur2, partition_of
from saffron.runtime.streams.event_keys import keys_of, keys_of_good

VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize("key", VECTORS)
def test_the_hash_is_that_of_kafkas_java_client(key: bytes) -> None:
    assert murmur2(key) == VECTORS[key] % 2**32  # Java's integers are signed
    assert partition_of(key, 12) == (VECTORS[key] & 0x7FFFFFFF) % 12


def test_the_hash_is_that_of_librdkafka() -> None:
    draw = random.Random(1)
    for length in range(40):
        key = draw.randbytes(length)
        assert partition_of(key, 1009) == confluent_kafka.murmur2(key, 1009)


def test_a_key_is_the_text_that_a_string_serializer_would_write() -> None:
    values = [b'"IBM"', b"7", b"2.5", b"7.0", b"true", b"null"]
    lines = [b'{"type":"A","k":%b}' % value for value in values]
    assert keys_of(lines, "k") == [b"IBM", b"7", b"2.5", b"7", b"true", None]
    assert keys_of([b'{"type":"A"}', b"{broken"], "k") == [None, None]


def test_events_that_were_decoded_have_the_same_keys() -> None:
    values = [b'"IBM"', b'"\\u00e9"', b"7", b"2.5", b"7.0", b"1e2", b"9007199254740993", b"true", b"null", b'""']
    lines = [b'{"type":"A","k":%b}' % value for value in values] + [b'{"type":"A"}']
    assert keys_of_good(lines, "k") == keys_of(lines, "k")
