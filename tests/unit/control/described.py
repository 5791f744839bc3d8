"""The description of the API (OpenAPI), held against requests and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import quote

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from saffron.control.openapi import document

METHODS = ("get", "post", "put", "patch", "delete")
_NAME = "urn:api"
_REGISTRY: Registry[Any] = Registry().with_resource(_NAME, DRAFT202012.create_resource(document()))


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(method, path, operation) of all that is described."""
    for path, item in document()["paths"].items():
        for method in METHODS:
            if method in item:
                yield method, path, item[method]


def check(method: str, path: str, sent: Any, status: int, kind: str, found: Any) -> None:
    """An answer is one of those that the description has, and a request that was served is as it says."""
    template = _template(path.partition("?")[0])
    known = template is not None and method.lower() in document()["paths"][template]
    if not known:
        assert status in (404, 405), f"{method} {path} is served and not described"
        _validate(("components", "schemas", "Error"), found)
        return
    assert template is not None
    place = ("paths", template, method.lower())
    if status < 300 and sent is not None and "requestBody" in _at(place):
        _validate((*place, "requestBody", "content", "application/json", "schema"), sent)
    answers = _at((*place, "responses"))
    assert str(status) in answers, f"{method} {path}: {status} is not described: {found}"
    there = (*place, "responses", str(status))
    if "$ref" in answers[str(status)]:
        there = tuple(answers[str(status)]["$ref"].removeprefix("#/").split("/"))
    assert kind in _at((*there, "content")), f"{method} {path}: {status} is {kind}"
    _validate((*there, "content", kind, "schema"), found)


def _template(path: str) -> str | None:
    """The most literal path of the description that this one is."""
    fitting = [one for one in document()["paths"] if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", one), path)]
    return min(fitting, key=lambda one: one.count("{"), default=None)


def _at(place: tuple[str, ...]) -> Any:
    found: Any = document()
    for part in place:
        found = found[part]
    return found


@cache
def _validator(place: tuple[str, ...]) -> Draft202012Validator:
    pointer = "/".join(quote(part.replace("~", "~0").replace("/", "~1")) for part in place)
    return Draft202012Validator({"$ref": f"{_NAME}#/{pointer}"}, registry=_REGISTRY)


def _validate(place: tuple[str, ...], found: Any) -> None:
    _validator(place).validate(found)
