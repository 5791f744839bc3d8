"""Jars: only what the lock names is ever used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from saffron.runtime.local import jars
from saffron.runtime.local.jars import Jar, JarError

A = Jar(hashlib.sha256(b"a").hexdigest(), PurePosixPath("org/x/a/1/a-1.jar"))
B = Jar(hashlib.sha256(b"b").hexdigest(), PurePosixPath("org/x/b/2/b-2.jar"))


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Two locked jars, and a registry that serves what the test puts in."""
    served: dict[str, bytes] = {}

    def downloader(folder: Path) -> Callable[[Jar], Path]:
        def download(jar: Jar) -> Path:
            path = folder / jar.path.name
            path.write_bytes(served.pop(jar.path.name))
            return path

        return download

    monkeypatch.setattr(jars, "read_lock", lambda name: [A, B])
    monkeypatch.setattr(jars, "_downloader", downloader)
    return served


def test_missing_jars_are_fetched_once(registry: dict[str, bytes], tmp_path: Path) -> None:
    registry.update({"a-1.jar": b"a", "b-2.jar": b"b"})
    said: list[str] = []
    paths = jars.ensure("x", said.append, tmp_path)
    assert [path.read_bytes() for path in paths] == [b"a", b"b"]
    assert said[-1] == "jars of x: 2/2 b-2.jar"
    assert jars.ensure("x", said.append, tmp_path) == paths
    assert len(said) == 3
    assert not list(tmp_path.glob("jars/fetch-*"))


def test_a_wrong_checksum_is_refused_and_not_kept(registry: dict[str, bytes], tmp_path: Path) -> None:
    registry.update({"a-1.jar": b"evil", "b-2.jar": b"b"})
    with pytest.raises(JarError, match=r"^a-1\.jar: sha256 is \w+, but x\.lock says \w+\. What was downloaded is not"):
        jars.ensure("x", cache=tmp_path)
    assert not (tmp_path / "jars" / A.path).exists()


def test_a_registry_that_fails_now_and_then_is_asked_again(
    registry: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.update({"a-1.jar": b"a", "b-2.jar": b"b"})
    reliable, asked = jars._downloader, dict[str, int]()

    def failing(times: int) -> Callable[[Path], Callable[[Jar], Path]]:
        def downloader(folder: Path) -> Callable[[Jar], Path]:
            def download(jar: Jar) -> Path:
                asked[jar.path.name] = asked.get(jar.path.name, 0) + 1
                if asked[jar.path.name] <= times:
                    raise JarError("no such host")
                return reliable(folder)(jar)

            return download

        return downloader

    monkeypatch.setattr(jars, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(jars, "_downloader", failing(3))
    with pytest.raises(JarError, match="no such host"):
        jars.ensure("x", cache=tmp_path)
    asked.clear()
    monkeypatch.setattr(jars, "_downloader", failing(2))
    assert [path.read_bytes() for path in jars.ensure("x", cache=tmp_path)] == [b"a", b"b"]
    assert asked == {"a-1.jar": 3, "b-2.jar": 3}


def test_a_damaged_jar_is_fetched_again(registry: dict[str, bytes], tmp_path: Path) -> None:
    registry.update({"a-1.jar": b"a", "b-2.jar": b"b"})
    path = jars.ensure("x", cache=tmp_path)[0]
    path.write_bytes(b"torn")
    registry["a-1.jar"] = b"a"
    assert jars.ensure("x", cache=tmp_path)[0].read_bytes() == b"a"


def test_kafkas_lock_is_whole() -> None:
    locked = jars.read_lock(jars.KAFKA)
    assert len(locked) == 46
    assert len({jar.path for jar in locked}) == 46
    kafka = next(jar for jar in locked if jar.path.name == "kafka_2.13-4.3.1.jar")
    assert kafka.coordinates == ("org.apache.kafka", "kafka_2.13", "4.3.1")
    assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in locked)
