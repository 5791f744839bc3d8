"""Resources against what Kubernetes and the operators accept; a field that they do not know is an error.

Rules in CEL (`x-kubernetes-validations`) are not looked at.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import zstandard
from jsonschema import Draft202012Validator

from tests.contracts.k8s.kustomize import Resource

KUBERNETES = "1.37"
_CRDS = Path(__file__).parent / "crds"
_VALUES_ONLY = ("anyOf", "allOf", "oneOf", "not")
"""What stands in these narrows the fields that are declared beside them, and declares none."""


def faults(resource: Resource) -> list[str]:
    """What is wrong with it, in words."""
    path = _CRDS / f"{resource['kind']}.json.zst"
    if path.exists():
        wrong = _validator(path, resource["apiVersion"]).iter_errors(resource["spec"])
        return [f"{error.json_path}: {error.message}" for error in wrong]
    try:
        kubernetes_validate.validate(resource, KUBERNETES, strict=True)
    except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        return [str(error)]
    return []


@cache
def _validator(path: Path, version: str) -> Draft202012Validator:
    schemas = json.loads(zstandard.decompress(path.read_bytes()))
    assert version in schemas, f"{path.stem}: {version} is none of {sorted(schemas)}"
    return Draft202012Validator(_closed(schemas[version]))


def _closed(node: Any) -> Any:
    """The schema, and no field besides those that it declares."""
    if isinstance(node, list):
        return [_closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    closed = {name: value if name in _VALUES_ONLY else _closed(value) for name, value in node.items()}
    is_open = node.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in node
    if isinstance(node.get("properties"), dict) and "type" in node and not is_open:
        closed["additionalProperties"] = False
    return closed
