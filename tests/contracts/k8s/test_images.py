"""The Dockerfile, the script that it calls, and what the manifests say of the images are of one mind."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections import Counter
from typing import Any

import pytest
import yaml

from saffron.runtime.local import baked
from saffron.runtime.process import config
from tests.contracts.k8s.test_manifests import ROOT, SYSTEMS, environment, of_kind, resources, templates
from tests.e2e.cluster.image import BUILD, DOCKERFILE, steps

TARGETS = ("saffron", "saffron-spark")
ID = 10001
TEXT = DOCKERFILE.read_text("utf-8")


def test_the_dockerfile_does_the_steps_of_the_script_and_nothing_else() -> None:
    known = re.findall(r"^([a-z][a-z-]*)\)", BUILD.read_text("utf-8"), re.MULTILINE)
    assert {step for target in TARGETS for step in steps(target)} == set(known)
    for target in TARGETS:
        order = [known.index(step) for step in steps(target)]
        assert order == sorted(order), f"{target}: {steps(target)}"
    runs = re.findall(r"^RUN (.*)$", TEXT, re.MULTILINE)
    assert all(re.fullmatch(r"sh k8s/images/build\.sh / [a-z-]+", one) for one in runs), runs
    assert subprocess.run(["sh", "-n", BUILD], check=False).returncode == 0
    done = subprocess.run(["sh", BUILD, "x", "wrong"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "image, step wrong: there is no such step\n")


def test_each_target_is_copied_from_its_build_and_is_nobody_in_particular() -> None:
    stages = {match[2]: match[0] for match in re.finditer(r"^FROM (\S+) AS (\S+)\n(?:.+\n?)*", TEXT, re.MULTILINE)}
    for target in TARGETS:
        assert f"COPY --from={target}-build /opt/saffron /opt/saffron\n" in stages[target]
        assert f"\nUSER {ID}:{ID}\n" in stages[target]


def test_no_registry_is_named() -> None:
    for path in (DOCKERFILE, BUILD):
        assert not re.search(r"https?://|\.(org|com|io)\b", path.read_text("utf-8")), path
    image = re.search(r"^ARG PYTHON=(\S+)$", TEXT, re.MULTILINE)
    assert image is not None
    assert "/" not in image[1]


def test_what_the_build_needs_is_in_its_context() -> None:
    context = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", TEXT, re.MULTILINE)
    for path in (path for line in copied for path in line.split()):
        assert (ROOT / path).exists(), path
        assert any(path == one or path.startswith(f"{one}/") for one in context), path
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    needed = {project["project"]["readme"], *project["project"]["license-files"], "schemas", "services"}
    assert needed <= {path for line in copied for path in line.split()}


@pytest.mark.parametrize("overlay", SYSTEMS)
def test_pods_use_these_images_and_write_into_volumes_only(overlay: str) -> None:
    claims = {name for kind, name in resources(overlay) if kind == "PersistentVolumeClaim"}
    for name, template in templates(overlay):
        spec = template["spec"]
        (container,) = spec["containers"]
        wanted = "saffron-spark" if name in ("saffron-model-builder", "driver", "executor") else "saffron"
        assert container["image"].partition(":")[0] == wanted
        security = {**spec["securityContext"], **container["securityContext"]}
        assert (security["runAsNonRoot"], security["runAsUser"], security["runAsGroup"]) == (True, ID, ID)
        assert (security["readOnlyRootFilesystem"], security["allowPrivilegeEscalation"]) == (True, False)
        writable = {one["name"]: kind_of(one) for one in spec["volumes"]} | claimed(overlay, name)
        mounts = {one["mountPath"]: writable[one["name"]] for one in container["volumeMounts"]}
        assert Counter(mounts.values()).keys() <= {"emptyDir", "persistentVolumeClaim", "secret", "configMap"}
        assert claims >= {
            one["persistentVolumeClaim"]["claimName"] for one in spec["volumes"] if "persistentVolumeClaim" in one
        }
        for path in written(name, environment(overlay, spec)):
            mount = max((one for one in mounts if f"{path}/".startswith(f"{one}/")), key=len, default=None)
            assert mount is not None, f"{name} writes {path}, where no volume is"
            assert mounts[mount] in ("emptyDir", "persistentVolumeClaim")


def kind_of(volume: dict[str, Any]) -> str:
    (kind,) = volume.keys() - {"name"}
    return kind


def claimed(overlay: str, name: str) -> dict[str, str]:
    """Volumes that each pod of a StatefulSet has of its own."""
    templates = [
        template
        for one in of_kind(overlay, "StatefulSet")
        if one["metadata"]["name"] == name
        for template in one["spec"]["volumeClaimTemplates"]
    ]
    return {one["metadata"]["name"]: "persistentVolumeClaim" for one in templates}


def written(name: str, variables: dict[str, Any]) -> set[str]:
    """Where a pod writes: settings say so, and each part of the program that keeps something uses these."""
    if name == "executor":
        return {"/tmp"}
    paths = {"/tmp", variables["HOME"], variables["SAFFRON_CACHE"], variables["NUMBA_CACHE_DIR"]}
    service = name.removeprefix("saffron-")
    if service in ("control", "model-builder", "driver"):
        paths.add(variables["SAFFRON_DATA"])
    if service in ("matcher", "greta"):
        paths.add(variables["SAFFRON_SNAPSHOTS"])
    return paths


def test_machine_code_is_where_the_build_made_it() -> None:
    """Numba looks for it by the path of the sources, below the path of the cache."""
    settings = dict(
        line.split("=", 1)
        for line in (ROOT / "k8s" / "base" / "settings.env").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    )
    script = BUILD.read_text("utf-8")
    assert f'SAFFRON_CACHE="$root{settings["SAFFRON_CACHE"]}"' in script
    assert settings["NUMBA_CACHE_DIR"] == f"{settings['SAFFRON_CACHE']}/numba"
    assert 'NUMBA_CACHE_DIR="$SAFFRON_CACHE/numba"' in script
    assert config.user_cache_directory(settings).as_posix() == settings["SAFFRON_CACHE"]
    assert baked.directory().name == "baked"
    stage = TEXT.partition(" AS base\n")[2].partition("\nFROM ")[0]
    assert "NUMBA_CPU_NAME=${NUMBA_CPU_NAME}" in stage, "built and run for one processor"
    assert "NUMBA_CPU_FEATURES= " in stage
    assert not {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"} & settings.keys()


def test_versions_in_the_guide_are_the_packages() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    base = yaml.safe_load((ROOT / "k8s" / "base" / "kustomization.yaml").read_text("utf-8"))
    assert {one["name"]: one["newTag"] for one in base["images"]} == dict.fromkeys(TARGETS, version)
    for path in (DOCKERFILE, ROOT / "docs" / "kubernetes.md"):
        assert set(re.findall(r"saffron(?:-spark)?:(\d[\w.]*)", path.read_text("utf-8"))) <= {version}
