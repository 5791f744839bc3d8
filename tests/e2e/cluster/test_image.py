"""The image as k8s/images builds it, and a service that runs from it as the manifest says: from a file system that is
read only but for its volumes, with machine code that was made when the image was built.

The processor is this one, where the Dockerfile says one that is found everywhere.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from saffron.runtime.log.kafka.kafka_log import KafkaLog
from saffron.runtime.log.kafka.librdkafka_settings import Cluster
from saffron.runtime.log.topics import topic_specs
from tests.contracts.k8s.kustomize import build as resources_of
from tests.e2e.cluster import image
from tests.e2e.cluster.pods import ROOT, WITHOUT_CAPABILITIES, Pod

SERVICE = "saffron-matcher"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The image's file system, without write access but for its volumes' places."""
    made = tmp_path / "root"
    image.build(made, "saffron")
    shutil.rmtree(made / "build")
    folders = [made / "opt", *(one for one in (made / "opt").rglob("*") if one.is_dir() and not one.is_symlink())]
    for folder in folders:
        folder.chmod(folder.stat().st_mode & ~_WRITABLE)
    yield made
    for folder in folders:
        folder.chmod(folder.stat().st_mode | stat.S_IWUSR)


def files(below: Path) -> dict[str, tuple[int, int]]:
    """(inode, time) of every file. What is written anew has another of both, or of one."""
    found = (Path(folder) / name for folder, _, names in os.walk(below) for name in names)
    return {str(one.relative_to(below)): (one.lstat().st_ino, one.lstat().st_mtime_ns) for one in found}


@pytest.mark.slow
def test_a_service_runs_from_its_image(root: Path, broker: str, prefix: str, tmp_path: Path) -> None:
    log = KafkaLog(Cluster(broker))
    log.create_topics(topic_specs(prefix, 1))
    log.close()
    resources = resources_of(ROOT / "k8s" / "overlays" / "dev")
    maps = {one["metadata"]["name"]: one["data"] for one in resources if one["kind"] == "ConfigMap"}
    (workload,) = [one for one in resources if one["kind"] == "StatefulSet" and one["metadata"]["name"] == SERVICE]
    baked = root / "opt" / "saffron" / "baked"
    kernels = {one.relative_to(baked) for one in baked.rglob("*.nb[ci]")}
    assert len(kernels) > 100
    before = files(root / "opt")
    touched = subprocess.run(
        [*WITHOUT_CAPABILITIES, shutil.which("touch") or "", root / "opt" / "saffron" / "x"],
        stderr=subprocess.DEVNULL,
        check=False,
    )
    assert touched.returncode != 0, "it can be written to"
    changed = {"SAFFRON_BOOTSTRAP": broker, "SAFFRON_PREFIX": prefix}
    pod = Pod(workload, maps, lambda name, key: "", tmp_path, changed, image=root)
    pod.start()
    try:
        pod.wait("start", lambda: pod.answers("startup"), 60)
        assert pod.end() == 0
    finally:
        pod.kill()
    assert files(root / "opt") == before
    assert {one.name for one in root.iterdir()} == {"opt", "var", "tmp"}, "only volumes are made beside /opt"
    cache = root / "var" / "cache" / "saffron"
    assert {one.relative_to(cache) for one in cache.rglob("*.nb[ci]")} == kernels, "a kernel was compiled again"
    same = [(cache / one).read_bytes() == (baked / one).read_bytes() for one in kernels]
    assert all(same), "a kernel was compiled again"


def test_without_a_package_index_a_step_says_so(tmp_path: Path) -> None:
    uv = tmp_path / "build" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.symlink_to(Path(sys.executable).parent / "uv")
    nowhere = {
        "UV_DEFAULT_INDEX": "http://127.0.0.1:1/",
        "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_HTTP_RETRIES": "0",
    }
    with pytest.raises(AssertionError, match=r"image, step packages: .*Is a package index reachable"):
        image.do(tmp_path, "packages", nowhere)
