"""Schemas by their ids, from a schema registry's REST API. An id means the same for ever: each is asked once. And the
ids of our own schemas, which are registered there."""

from __future__ import annotations

import base64
import http.client
import logging
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import orjson

from saffron.errors import LogError, SettingsError
from saffron.runtime.process.background import Background
from saffron.runtime.telemetry.health import Health

_TIMEOUT = 5.0
_AGAIN_MS = 1_000
_TELL_MS = 10_000
_UNKNOWN_MS = 10_000
"""How long an id that the registry does not know is taken for none: it may have lagged behind its own leader."""

Get = Callable[[str], Any]
"""The JSON at a path of the registry; LookupError: there is none there; LogError: it does not answer, and why."""
Post = Callable[[str, Mapping[str, Any]], Any]
"""What a path of the registry answers to this JSON; fails as `Get` does."""


@dataclass(frozen=True)
class WriterSchema:
    """A schema as a writer used it. `kind`: AVRO, PROTOBUF or JSON.

    `references`: (name, text) of the schemas that it needs, each behind those that itself needs.
    """

    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Unknown:
    until: int


class Registry:
    """One registry. `background`: where it is asked, so that nobody else waits for its answers."""

    def __init__(self, get: Get, background: Background) -> None:
        self.waiting = ""
        self._get = get
        self._background = background
        self._known: dict[int, WriterSchema | _Unknown] = {}
        self._asked: dict[int, Future[WriterSchema | None]] = {}
        self._again_at = 0

    def schemas(self, ids: Collection[int], now_ms: int) -> Mapping[int, WriterSchema | None] | None:
        """The schemas of these ids (None: the registry has none); nothing at all before it has answered for each.

        Never waits: ask again. `waiting` is a sentence while the registry does not answer, else empty.
        """
        for one in [one for one, future in self._asked.items() if future.done()]:
            self._answer(one, self._asked.pop(one), now_ms)
        found: dict[int, WriterSchema | None] = {}
        for one in ids:
            known = self._known.get(one)
            if isinstance(known, _Unknown) and now_ms < known.until:
                found[one] = None
            elif isinstance(known, WriterSchema):
                found[one] = known
            elif one not in self._asked and now_ms >= self._again_at:
                self._asked[one] = self._background(lambda one=one: self._fetch(one))  # type: ignore[misc]
        return found if len(found) == len(ids) else None

    def _answer(self, one: int, future: Future[WriterSchema | None], now_ms: int) -> None:
        try:
            schema = future.result()
        except LogError as error:
            self.waiting, self._again_at = str(error), now_ms + _AGAIN_MS
            return
        self.waiting = ""
        self._known[one] = _Unknown(now_ms + _UNKNOWN_MS) if schema is None else schema

    def _fetch(self, one: int) -> WriterSchema | None:
        """On any thread. A Protobuf schema is asked for once more, in the form that needs no compiler."""
        try:
            body = self._get(f"/schemas/ids/{one}")
            kind = str(body.get("schemaType", "AVRO"))
            form = ""
            if kind == "PROTOBUF":
                form = "?format=serialized"
                body = self._get(f"/schemas/ids/{one}{form}")
            references: dict[str, str] = {}
            self._collect(body, form, references)
        except LookupError:
            return None
        return WriterSchema(kind, str(body["schema"]), tuple(references.items()))

    def _collect(self, body: Mapping[str, Any], form: str, found: dict[str, str]) -> None:
        for reference in body.get("references") or ():
            if reference["name"] not in found:
                subject, version = quote(reference["subject"], safe=""), reference["version"]
                other = self._get(f"/subjects/{subject}/versions/{version}{form}")
                self._collect(other, form, found)
                found[reference["name"]] = str(other["schema"])


class Awaited:
    """Says what of a registry is waited for: at /readyz, and in the log now and then. `held`: what waits for it."""

    def __init__(self, health: Health, log: logging.Logger, held: str) -> None:
        self._health = health
        self._log = log
        self._held = held
        self._told_at = -_TELL_MS

    def wait(self, why: str, now_ms: int) -> None:
        self._health.waiting("registry", why)
        if now_ms - self._told_at >= _TELL_MS:
            self._told_at = now_ms
            self._log.warning("%s: %s", why, self._held)

    def done(self) -> None:
        self._health.done("registry")


def register(post: Post, subject: str, schema: WriterSchema) -> int:
    """The id of a schema without references under a subject; it is added there unless it is there already.

    So the right to read is enough where somebody else has added it. LogError: there is no id, and why.
    """
    place, body = f"/subjects/{quote(subject, safe='')}", {"schema": schema.text, "schemaType": schema.kind}
    try:
        try:
            found = post(place, body)
        except LookupError:
            found = post(f"{place}/versions", body)
        return int(found["id"])
    except (LookupError, TypeError, ValueError) as error:
        raise LogError(f"no schema registry: {place}/versions has no answer with an id ({error!r})") from error


def over_http(url: str, credentials: str) -> Get:
    """How a registry at `url` is asked. `credentials`: USER:PASSWORD, or empty. SettingsError: no such URL can be."""
    ask = _asking(url, credentials)
    return lambda path: ask(path, None)


def posting(url: str, credentials: str) -> Post:
    """How a registry is told something; see `over_http`."""
    return _asking(url, credentials)


def _asking(url: str, credentials: str) -> Callable[[str, Mapping[str, Any] | None], Any]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise SettingsError(
            f"registry {url!r} is not http://HOST:PORT or https://HOST:PORT (a name and password for it go into the "
            "setting registry_auth)"
        )
    headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
    if credentials:
        headers["Authorization"] = "Basic " + base64.b64encode(credentials.encode()).decode()

    def ask(path: str, body: Mapping[str, Any] | None) -> Any:
        told = {} if body is None else {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        data = None if body is None else orjson.dumps(body)
        try:
            request = urllib.request.Request(url.rstrip("/") + path, data, {**headers, **told})
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
                return orjson.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:  # it is the answer, too, and would keep the connection
                why = "" if body is None else _said(error)
            if error.code == http.client.NOT_FOUND:
                raise LookupError(path) from error
            hint = "; is registry_auth right?" if error.code in (401, 403) else ""
            raise LogError(f"the schema registry at {url} answers {error.code} {error.reason}{why}{hint}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise LogError(f"the schema registry at {url} does not answer ({error})") from error

    return ask


def _said(refusal: urllib.error.HTTPError) -> str:
    """What a refusal says of itself, to be put behind it."""
    try:
        return f": {orjson.loads(refusal.read())['message']}"
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return ""
