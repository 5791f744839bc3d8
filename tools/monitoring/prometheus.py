"""Prometheus and promtool: those on the PATH, else Debian's package, fetched once into the user's cache.

apt-get does it with lists of its own, so that neither root nor `apt-get update` is needed; it checks the signatures.
Where it is missing (no Debian, no Ubuntu) whoever wants to run these puts them on the PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from saffron.errors import SaffronError
from saffron.runtime.process.config import user_cache_directory

_PACKAGE = "prometheus"


class MissingError(SaffronError):
    """A program cannot be had; the message has the reason and the fix."""


def program(name: str) -> Path:
    """`prometheus` or `promtool`. MissingError."""
    if found := shutil.which(name):
        return Path(found)
    root = user_cache_directory() / _PACKAGE
    if not (root / name).exists():
        _fetch(root)
    return root / name


def _fetch(root: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MissingError("prometheus and promtool are not on the PATH, and there is no apt-get: install Prometheus")
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent, prefix="fetch-") as folder:
        work = Path(folder)
        _run(work, "apt-get", *_own_lists(work), "update")
        _run(work, "apt-get", *_own_lists(work), "download", _PACKAGE)
        _run(work, "dpkg-deb", "--extract", str(next(work.glob("*.deb"))), str(work / "tree"))
        root.mkdir(exist_ok=True)
        for path in (work / "tree" / "usr" / "bin").iterdir():
            os.replace(path, root / path.name)


def _own_lists(work: Path) -> list[str]:
    """Options of apt-get that keep it out of the system's lists."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    places = {"Dir::State": work / "state", "Dir::State::status": "/dev/null", "Dir::Cache": work / "cache"}
    return [f"-o{name}={value}" for name, value in {**places, "APT::Sandbox::User": ""}.items()]


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["(no message)"])[-1]
        raise MissingError(f"Debian's package {_PACKAGE} cannot be had: {' '.join(command[:1])} says {said!r}")
