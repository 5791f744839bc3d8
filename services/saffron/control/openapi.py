"""The API's description (OpenAPI 3.1), in the file `openapi.yaml`. Tests compare it with the routes."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import yaml


@cache
def document() -> dict[str, Any]:
    """The whole description, as JSON values."""
    text = (resources.files("saffron.control") / "openapi.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found
