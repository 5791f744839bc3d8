"""The reduced CustomResourceDefinitions for tests of k8s/: `python tools/k8s_crds.py CRD.yaml...` adds one.

They are the schema of each version's `spec`, without its prose; one compressed file a kind, which any zstd opens.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml
import zstandard

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "contracts" / "k8s" / "crds"


def cut(definition: Any) -> dict[str, Any]:
    """apiVersion -> the schema of `spec`."""
    spec = definition["spec"]
    schemas = {
        f"{spec['group']}/{version['name']}": version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for version in spec["versions"]
    }
    return {version: _without_prose(schema) for version, schema in schemas.items()}


def _without_prose(node: Any) -> Any:
    if isinstance(node, dict):
        prose = {name for name, value in node.items() if name == "description" and isinstance(value, str)}
        return {name: _without_prose(value) for name, value in node.items() if name not in prose}
    return [_without_prose(one) for one in node] if isinstance(node, list) else node


def main(paths: list[str]) -> None:
    for path in paths:
        for definition in yaml.safe_load_all(Path(path).read_text("utf-8")):
            text = json.dumps(cut(definition), sort_keys=True).encode()
            name = definition["spec"]["names"]["kind"]
            (FOLDER / f"{name}.json.zst").write_bytes(zstandard.compress(text, 19))


if __name__ == "__main__":
    main(sys.argv[1:])
