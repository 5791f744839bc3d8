"""An image without a container engine: the steps of k8s/images/Dockerfile, done into a directory."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from saffron.runtime.process.config import user_cache_directory

ROOT = Path(__file__).parents[3]
DOCKERFILE = ROOT / "k8s" / "images" / "Dockerfile"
BUILD = ROOT / "k8s" / "images" / "build.sh"
_STAGE = re.compile(r"^FROM (\S+) AS (\S+)$", re.MULTILINE)
_STEP = re.compile(r"^RUN sh k8s/images/build\.sh / (\S+)$", re.MULTILINE)
_SECONDS = 600.0


def steps(target: str) -> list[str]:
    """What the Dockerfile runs on the way to the stage from which `target` is copied, in order."""
    text = DOCKERFILE.read_text("utf-8")
    marks = list(_STAGE.finditer(text))
    ends = [one.start() for one in marks[1:]] + [len(text)]
    stages = {one[2]: (one[1], text[one.end() : end]) for one, end in zip(marks, ends, strict=True)}
    found: list[str] = []
    stage = f"{target}-build"
    while stage in stages:
        stage, body = stages[stage]
        found[:0] = _STEP.findall(body)
    return found


def do(root: Path, step: str, changed: Mapping[str, str] | None = None) -> str:
    """One step, of which the last words are returned. AssertionError: it failed."""
    done = subprocess.run(
        ["sh", str(BUILD), str(root), step],
        cwd=ROOT,
        env={**os.environ, "UV_HTTP_TIMEOUT": "10", "UV_HTTP_RETRIES": "1", **(changed or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{BUILD.name} {step}: status {done.returncode}\n{done.stdout[-3000:]}"
    return done.stdout


def build(root: Path, target: str) -> None:
    """All steps. uv is the one at hand; what this checkout has compiled is not compiled anew."""
    uv = root / "build" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.symlink_to(Path(sys.executable).parent / "uv")
    _seed(root)
    for step in steps(target):
        do(root, step)


def _seed(root: Path) -> None:
    """Machine code of the same sources for the same processor: only the place where Numba looks for it differs."""
    cache = root / "var" / "cache" / "saffron"
    site = root / "opt" / "saffron" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    services = ROOT / "services"
    generated = user_cache_directory() / "kernels"
    shutil.copytree(generated, cache / "kernels", ignore=shutil.ignore_patterns("__pycache__", "*.tmp"))
    folders = {one: site / one.parent.relative_to(services) for one in services.rglob("__pycache__")}
    for folder, module in {**folders, generated / "__pycache__": cache / "kernels"}.items():
        into = cache / "numba" / f"{module.name}_{hashlib.sha1(str(module).encode()).hexdigest()}"
        into.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.nb[ci]"):
            shutil.copy(path, into)
