"""Jars from Maven, and Java's own programs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from saffron.runtime.process.config import user_cache_directory


def jars(pom: Path, name: str) -> Path:
    """The folder with the jars that a project file names, fetched once. `name`: of the folder, with the version."""
    folder = user_cache_directory() / name
    whole = folder / "whole"
    if not whole.exists():
        run("mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}")
        whole.touch()
    return folder


def run(*words: str) -> str:
    """The output of a program. SystemExit: it is not there, or fails."""
    if shutil.which(words[0]) is None:
        raise SystemExit(f"{words[0]} is not installed: a JDK and Maven are needed")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{words[0]}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
