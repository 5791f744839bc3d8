"""Every folder of k8s/ builds, and to the same as with the real Kustomize where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.k8s.kustomize import Resource, build, documents, key_of

K8S = Path(__file__).resolve().parents[3] / "k8s"
FOLDERS = [K8S / "base", *sorted(path.parent for path in (K8S / "overlays").glob("*/kustomization.yaml"))]
_HASH = re.compile(r"-[a-z0-9]{10}$")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_what_is_built_is_what_kustomize_builds(folder: Path) -> None:
    built = build(folder)
    assert built
    if shutil.which("kubectl") is None:
        pytest.skip("no kubectl to compare with")
    done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=True)
    generated = {name for kind, name in map(key_of, built) if kind == "ConfigMap"}
    theirs = [without_hashes(one, generated) for one in documents(done.stdout)]
    assert by_key(built) == by_key(theirs)


def by_key(resources: list[Resource]) -> dict[tuple[str, str], Resource]:
    return {key_of(one): normal(one) for one in resources}


def normal(node: Any) -> Any:
    """The order of named things (volumes, containers) means nothing."""
    if isinstance(node, dict):
        return {name: normal(value) for name, value in node.items()}
    if isinstance(node, list):
        return sorted(map(normal, node), key=partial(json.dumps, sort_keys=True))
    return node


def without_hashes(node: Any, generated: set[str]) -> Any:
    """The names of generated ConfigMaps as they are written."""
    if isinstance(node, dict):
        return {name: without_hashes(value, generated) for name, value in node.items()}
    if isinstance(node, list):
        return [without_hashes(one, generated) for one in node]
    if isinstance(node, str) and (short := _HASH.sub("", node)) in generated:
        return short
    return node
