"""The JVM's class path and archive; the JVM that submitted the program."""

from __future__ import annotations

from pathlib import Path

from saffron.spark import gateway, jars


def test_jars_that_are_given_are_not_looked_for() -> None:
    assert jars.given_or_ensured("/a/x.jar,/b/y.jar") == [Path("/a/x.jar"), Path("/b/y.jar")]


def test_the_class_path_is_sparks_own_and_the_connectors_in_a_fixed_order() -> None:
    found = gateway.class_path([Path("/connector.jar")])
    assert found[-1] == Path("/connector.jar")
    assert found[:-1] == sorted(found[:-1])
    assert any(path.name.startswith("spark-core") for path in found)


def test_a_jar_installed_again_has_another_archive(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"one")
    first = gateway.archive_stem([jar])
    assert gateway.archive_stem([jar]) == first
    jar.write_bytes(b"other")
    assert gateway.archive_stem([jar]) != first


def test_a_jvm_that_submitted_the_program_is_used_as_it_is() -> None:
    keys = {"PYSPARK_GATEWAY_PORT": "25333", "PYSPARK_GATEWAY_SECRET": "s"}
    found = gateway.submitted({**keys, "PATH": "/bin"})
    assert found is not None
    assert (found.submitted, found.environment) == (True, keys)
    found.close()
    assert gateway.submitted({}) is None
