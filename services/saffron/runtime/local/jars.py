"""Jars by version and checksum: lock files name them, jgo fetches them, and sha256 verifies them.

A lock is a file of this package, `locks/NAME.lock`, with a line "sha256 path-in-a-maven-repository" for each jar. It
contains all dependencies of NAME, so nothing is resolved at run time and no other version is used.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from saffron.counted import counted
from saffron.distribution import install
from saffron.errors import SaffronError
from saffron.runtime.process.config import user_cache_directory

KAFKA = "kafka-4.3.1"
_DOWNLOADS = 4
"""Jars fetched at the same time."""
_PAUSES = (1.0, 4.0)
"""Seconds before each retry of a fetch, for registries and name servers that fail now and then."""

Progress = Callable[[str], None]
"""A function that is called with one line on what is being waited for."""


class JarError(SaffronError):
    """A jar that cannot be fetched, or is not the one in the lock."""


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of a lock. `path`: group/as/folders/artifact/version/artifact-version.jar."""

    sha256: str
    path: PurePosixPath

    @property
    def coordinates(self) -> tuple[str, str, str]:
        """Group, artifact and version."""
        *group, artifact, version, _ = self.path.parts
        return ".".join(group), artifact, version


def read_lock(name: str) -> list[Jar]:
    """The jars of a lock, in the order of the file."""
    text = resources.files("saffron.runtime.local").joinpath("locks", f"{name}.lock").read_text("utf-8")
    return [Jar(sha, PurePosixPath(path)) for sha, path in (line.split() for line in text.splitlines())]


def ensure(name: str, progress: Progress = lambda line: None, cache: Path | None = None) -> list[Path]:
    """Paths of all jars of lock `name`, verified. Missing ones are fetched into the cache.

    All users of the lock share the cache. A jar is moved into place only after verification, so an interrupted or
    concurrent fetch leaves nothing incomplete. JarError: no registry answers, or a checksum is wrong (after one new
    fetch of a damaged jar).
    """
    root = folder(cache)
    jars = read_lock(name)
    damaged = [jar for jar in jars if (root / jar.path).exists() and not intact(root, jar)]
    for jar in damaged:
        progress(f"{jar.path.name} in {root} is damaged: fetching it again")
        (root / jar.path).unlink(missing_ok=True)
    if absent := missing(name, cache):
        _fetch_all(absent, root, name, progress)
    return [root / jar.path for jar in jars]


def folder(cache: Path | None = None) -> Path:
    """The directory of jars, by their paths in a Maven repository."""
    return (cache or user_cache_directory()) / "jars"


def missing(name: str, cache: Path | None = None) -> list[Jar]:
    """The jars of lock `name` that are not in the cache."""
    return [jar for jar in read_lock(name) if not (folder(cache) / jar.path).exists()]


def intact(root: Path, jar: Jar) -> bool:
    """True if the jar under `root` has the lock's checksum."""
    return _sha256(root / jar.path) == jar.sha256


def _fetch_all(missing: list[Jar], root: Path, name: str, progress: Progress) -> None:
    """Download missing jars into `root`. JarError: the checksum of a jar differs from the lock file."""
    root.mkdir(parents=True, exist_ok=True)
    progress(f"fetching {counted(len(missing), 'jar')} of {name} into {root} (once)")
    done = 0
    with tempfile.TemporaryDirectory(dir=root, prefix="fetch-") as folder, ThreadPoolExecutor(_DOWNLOADS) as pool:
        for jar, path in zip(missing, pool.map(_with_retries(_downloader(Path(folder))), missing), strict=True):
            if (found := _sha256(path)) != jar.sha256:
                raise JarError(
                    f"{jar.path.name}: sha256 is {found}, but {name}.lock says {jar.sha256}. What was downloaded is"
                    " not the released jar: check the registry or mirror that jgo is set up with."
                )
            (root / jar.path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, root / jar.path)
            done += 1
            progress(f"jars of {name}: {done}/{len(missing)} {jar.path.name}")


def _with_retries(download: Callable[[Jar], Path]) -> Callable[[Jar], Path]:
    """`download` with retries after pauses; the last failure is raised."""

    def try_again(jar: Jar) -> Path:
        for pause in _PAUSES:
            try:
                return download(jar)
            except JarError:
                time.sleep(pause)
        return download(jar)

    return try_again


def _downloader(folder: Path) -> Callable[[Jar], Path]:
    """A function that fetches one jar into `folder`, with jgo and the registries in its settings."""
    try:
        from jgo.config import GlobalSettings
        from jgo.constants import MAVEN_CENTRAL_URL
        from jgo.maven import MavenContext
    except ImportError as error:
        raise JarError(f"jgo is not installed, which fetches jars: {install('local')}") from error
    repositories = {**GlobalSettings.load().repositories, "central": MAVEN_CENTRAL_URL}
    context = MavenContext(repo_cache=folder, local_repos=[], remote_repos=repositories, timeout=60)

    def download(jar: Jar) -> Path:
        """The path of the fetched jar, not verified yet. JarError: it cannot be fetched, for whatever reason."""
        group, artifact, version = jar.coordinates
        try:
            found: Path = context.project(group, artifact).at_version(version).artifact(packaging="jar").resolve()
            return found
        except Exception as error:  # jgo raises errors of its own and of its HTTP library
            raise JarError(
                f"cannot fetch {group}:{artifact}:{version}: {error}. Is this machine online? Behind a proxy set"
                " HTTPS_PROXY; for a mirror add it to [repositories] in jgo's settings file (~/.config/jgo.conf)."
            ) from error

    return download


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
