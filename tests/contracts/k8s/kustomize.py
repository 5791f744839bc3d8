"""What `kustomize build` makes of a folder, for as much of Kustomize as k8s/ uses; anything else is an error.

Names of generated ConfigMaps have no hash here. `test_kustomize.py` compares with the real one where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.contracts.k8s.patches import json_patched, merged

Resource = dict[str, Any]

_TEMPLATED = ("Deployment", "StatefulSet")
_FIELDS = frozenset(
    {
        "apiVersion", "kind", "namespace", "resources", "components", "configMapGenerator", "labels", "images",
        "replicas", "patches", "configurations", "generatorOptions",
    }
)  # fmt: skip


def build(folder: Path) -> list[Resource]:
    """All resources of a folder with a kustomization.yaml."""
    return _applied(folder, [])


def documents(text: str) -> list[Any]:
    """The YAML documents of a text, with aliases resolved into objects of their own."""
    return [_own(one) for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def key_of(resource: Resource) -> tuple[str, str]:
    """Kind and name: no two resources of one folder have the same."""
    return resource["kind"], resource["metadata"]["name"]


def _own(node: Any) -> Any:
    """A copy that shares nothing with itself, as aliases do."""
    if isinstance(node, dict):
        return {name: _own(value) for name, value in node.items()}
    return [_own(one) for one in node] if isinstance(node, list) else node


def _applied(folder: Path, given: list[Resource]) -> list[Resource]:
    """`given`, and what the folder adds, after all that it does to both."""
    rules = yaml.safe_load((folder / "kustomization.yaml").read_text("utf-8"))
    assert not (unknown := rules.keys() - _FIELDS), f"{folder}: {sorted(unknown)}"
    found = list(given)
    for name in rules.get("resources", ()):
        path = folder / name
        found += build(path) if path.is_dir() else documents(path.read_text("utf-8"))
    for name in rules.get("components", ()):
        found = _applied(folder / name, found)
    for generator in rules.get("configMapGenerator", ()):
        _generate(folder, generator, found)
    for patch in rules.get("patches", ()):
        found = _patched(folder, patch, found)
    for resource in found:
        _settle(rules, resource)
    assert len({key_of(one) for one in found}) == len(found), f"{folder}: a resource twice"
    return found


def _generate(folder: Path, rules: Mapping[str, Any], found: list[Resource]) -> None:
    lines = [line for name in rules.get("envs", ()) for line in (folder / name).read_text("utf-8").splitlines()]
    pairs = [line for line in lines if line and not line.startswith("#")] + rules.get("literals", [])
    data = dict(pair.split("=", 1) for pair in pairs)
    for name in rules.get("files", ()):
        key, _, path = name.rpartition("=")
        data[key or Path(path).name] = (folder / path).read_text("utf-8")
    name = rules["name"]
    if rules.get("behavior") == "merge":
        (there,) = [one for one in found if key_of(one) == ("ConfigMap", name)]
        there["data"] |= data
        return
    metadata = {
        "name": name,
        **{part: rules["options"][part] for part in ("labels",) if part in rules.get("options", {})},
    }
    found.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def _patched(folder: Path, rules: Mapping[str, Any], found: list[Resource]) -> list[Resource]:
    (patch,) = documents((folder / rules["path"]).read_text("utf-8") if "path" in rules else rules["patch"])
    wanted = rules.get("target") or {"kind": patch["kind"], "name": patch["metadata"]["name"]}
    chosen = [one for one in found if _is_wanted(one, wanted)]
    assert chosen, f"{folder}: a patch of nothing: {wanted}"
    if isinstance(patch, list):
        for one in chosen:
            json_patched(one, patch)
        return found
    if patch.get("$patch") == "delete":
        return [one for one in found if one not in chosen]
    content = {name: value for name, value in patch.items() if name not in ("apiVersion", "kind", "metadata")}
    for one in chosen:
        one.update(merged(one, content))
    return found


def _is_wanted(one: Resource, wanted: Mapping[str, str]) -> bool:
    assert wanted.keys() <= {"kind", "name", "labelSelector"}
    name, _, value = wanted.get("labelSelector", "").partition("=")
    return (
        re.fullmatch(wanted.get("kind", ".*"), one["kind"]) is not None
        and re.fullmatch(wanted.get("name", ".*"), one["metadata"]["name"]) is not None
        and (not name or one["metadata"].get("labels", {}).get(name) == value)
    )


def _settle(rules: Mapping[str, Any], resource: Resource) -> None:
    """Namespace, labels, tags of images, and numbers of replicas."""
    if (namespace := rules.get("namespace")) is not None:
        place = "name" if resource["kind"] == "Namespace" else "namespace"
        resource["metadata"][place] = namespace
    template = resource["spec"]["template"] if resource["kind"] in _TEMPLATED else None
    for label in rules.get("labels", ()):
        resource["metadata"].setdefault("labels", {}).update(label["pairs"])
        if template is not None and label.get("includeTemplates"):
            template["metadata"]["labels"].update(label["pairs"])
            for claim in resource["spec"].get("volumeClaimTemplates", ()):
                claim["metadata"].setdefault("labels", {}).update(label["pairs"])
    for image in rules.get("images", ()):
        for container in template["spec"]["containers"] if template is not None else ():
            if container["image"] == image["name"]:
                container["image"] += f":{image['newTag']}"
    for count in rules.get("replicas", ()):
        if template is not None and resource["metadata"]["name"] == count["name"]:
            resource["spec"]["replicas"] = count["count"]
