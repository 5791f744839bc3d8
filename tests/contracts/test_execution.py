"""Text becomes code in few places, and none of them is given what a user wrote (see test_hostile_names)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SERVICES = Path(__file__).parents[2] / "services" / "saffron"
RUNS = {
    "engine/kernels/generated.py": {
        "exec": "generated source without the JIT, and its modules (tests, arithmetic without limits)",
        "compile": "the same source, once for each text",
        "exec_module": "generated source, from a file of the cache that is named by its content",
    },
    "engine/trends/codegen/syntax.py": {
        "eval": "an expression all of whose parts are constants that our own kernels hold",
        "compile": "the same",
    },
    "engine/kernels/part_cache.py": {"loads": "descriptions of machine code, in the user's own cache"},
    "control/streams/trial.py": {
        "load": "what the service has just pickled for its own child; the user's text in it is data"
    },
}
"""File -> what runs text there, and which."""
_BARE = {"exec", "eval", "compile", "__import__"}
_OF_MODULES = {
    ("pickle", "load"), ("pickle", "loads"), ("marshal", "loads"), ("yaml", "load"),
    ("os", "system"), ("os", "popen"), ("builtins", "exec"), ("builtins", "eval"), ("runpy", "run_path"),
}  # fmt: skip


def running(tree: ast.Module) -> Iterator[str]:
    """Names of the calls that run text, or load what could."""
    ours = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    ours |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    ours |= {one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _BARE - ours:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr == "exec_module":
            yield node.attr
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in _OF_MODULES:
                yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (one.name for one in node.names if (node.module, one.name) in _OF_MODULES)
        elif isinstance(node, ast.keyword) and node.arg == "shell":
            yield node.arg


def test_text_is_run_in_these_places_alone() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(SERVICES.rglob("*.py")):
        for name in running(ast.parse(path.read_text("utf-8"))):
            found.setdefault(path.relative_to(SERVICES).as_posix(), set()).add(name)
    assert found == {file: set(calls) for file, calls in RUNS.items()}
