"""The two kinds of patches that Kustomize knows, as far as k8s/ uses them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

_KEYS = {
    "containers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""By what the items of a list are told apart, in a pod; a list that is not here is replaced."""


def merged(there: Any, patch: Any, name: str = "") -> Any:
    """A strategic merge: objects by field, lists of a pod by the key of their items (new first), all else replaced."""
    if isinstance(there, Mapping) and isinstance(patch, Mapping):
        both = {
            field: merged(there[field], value, field) if field in there else value for field, value in patch.items()
        }
        return {**there, **copy.deepcopy(both)}
    if isinstance(there, list) and isinstance(patch, list) and (key := _KEYS.get(name)) is not None:
        old = {item[key]: item for item in there}
        new = [copy.deepcopy(item) for item in patch if item[key] not in old]
        by_key = {item[key]: item for item in patch}
        return new + [merged(item, by_key[item[key]]) if item[key] in by_key else item for item in there]
    return patch


def json_patched(resource: Any, operations: Sequence[Mapping[str, Any]]) -> None:
    """RFC 6902, in place: add, replace and remove."""
    for one in operations:
        *way, last = (part.replace("~1", "/").replace("~0", "~") for part in one["path"].split("/")[1:])
        target = resource
        for part in way:
            target = target[int(part)] if isinstance(target, list) else target[part]
        place = int(last) if isinstance(target, list) and last != "-" else last
        match one["op"]:
            case "add" if place == "-":
                target.append(copy.deepcopy(one["value"]))
            case "add" if isinstance(target, list):
                target.insert(place, copy.deepcopy(one["value"]))
            case "remove":
                del target[place]
            case "add" | "replace":
                assert one["op"] == "add" or isinstance(target, list) or place in target, one
                target[place] = copy.deepcopy(one["value"])
            case other:
                raise AssertionError(other)
