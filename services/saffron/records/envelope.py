"""The value of a record on `models`: JSON content with its sha256, so that a damaged model is never used.

A model's version is (epoch, batch). The epoch is created with the builder's checkpoint; the batch is Spark's batch
number in it. Later versions are greater, whichever checkpoint was lost between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from saffron.errors import SaffronError

Version = tuple[int, int]


class ModelError(SaffronError):
    """A refused model, with a message.

    `reason`: "broken", "incomplete", "older", or "query" (the model is of another query).
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def seal(content: Mapping[str, Any]) -> bytes:
    """`content` with its "sha256", as canonical JSON: sorted keys, no spaces, shortest numbers."""
    return orjson.dumps({**content, "sha256": digest(content)}, option=orjson.OPT_SORT_KEYS)


def unseal(value: bytes) -> dict[str, Any]:
    """The content of a sealed value, without "sha256". ModelError("broken"): the checksum does not fit."""
    try:
        content = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise ModelError("broken", f"the model is not JSON: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("sha256"), str):
        raise ModelError("broken", "the model is not a JSON object with a sha256")
    given = content.pop("sha256")
    if given != digest(content):
        raise ModelError("broken", f"the model's content does not have its sha256 {given}")
    return content


def digest(content: Mapping[str, Any]) -> str:
    """sha256 (hex) of the canonical JSON of `content`."""
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def version_of(content: Mapping[str, Any]) -> Version:
    """The version of a model's content. ModelError("broken"): there is none."""
    version = content.get("version")
    if not isinstance(version, list) or len(version) != 2 or not all(type(part) is int for part in version):
        raise ModelError("broken", f"the model's version must be [epoch, batch], not {version!r}")
    return version[0], version[1]
