"""The listing of the matches of an OUTPUT COMPRESSED result, from its JSON alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from saffron.engine.match.compressed.enumeration import matches
from saffron.errors import SaffronError

Result = Mapping[str, Any]

_LIST = "[]"


def whole(results: Iterable[Result]) -> Iterator[Result]:
    """Results with the chunks of each put together, each where its last chunk stands.

    SaffronError at the end if chunks are missing.
    """
    begun: dict[str, dict[int, Result]] = {}
    for result in results:
        if "chunks" not in result:
            yield result
            continue
        chunks = begun.setdefault(result["id"], {})
        chunks[result["chunk"]] = result
        if len(chunks) == result["chunks"]:
            del begun[result["id"]]
            nodes = [node for number in sorted(chunks) for node in chunks[number]["nodes"]]
            yield {**result, "nodes": nodes}
    for name, chunks in begun.items():
        total = next(iter(chunks.values()))["chunks"]
        raise SaffronError(f"result {name} has {len(chunks)} of {total} chunks only: give all its lines")


def listed(result: Result) -> Iterator[dict[str, Any]]:
    """The bindings of each match in the order of results: by variable a seq, a list of seqs for a closure, or None.
    Memory does not follow their number.
    """
    variables: Sequence[str] = result["variables"]
    names = [variable.removesuffix(_LIST) for variable in variables]
    # The node that closes a graph whose matches end as different variables is behind all events.
    number = {None: len(names)} | {name: component for component, name in enumerate(names)}
    behind = 1 + max(seq for _, seq, _ in result["nodes"] if seq is not None)
    nodes = [(number[name], behind if seq is None else seq, before) for name, seq, before in result["nodes"]]
    for bound in matches(nodes, len(names) + 1):
        yield {
            name: part if variable.endswith(_LIST) else part[0] if part else None
            for name, variable, part in zip(names, variables, bound, strict=False)
        }
