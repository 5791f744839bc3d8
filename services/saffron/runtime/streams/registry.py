"""Client of a schema registry's REST API: schemas by id, and registration of our own schemas.

An id never changes its meaning, so each schema is fetched once.

Confluent's own client (`confluent_kafka.schema_registry`) would replace the 60 lines of `_client`, `register` and
`_collect`. It brings twelve more packages of 27 MB, among them `cryptography`, and takes 0.13 s of processor time to
import. Its client certificates and OAuth are what ours lacks; a service does its own retries, since it may not wait.
"""

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

from saffron.counted import counted
from saffron.errors import LogError, RefusedError, SettingsError, one_line
from saffron.runtime.process.background import Background
from saffron.runtime.process.registry_auth import credentials_for

_TIMEOUT = 5.0
_MOST_BYTES = 16 * 2**20
"""Bytes of an answer: a schema is far smaller."""
_RETRY_MS = 1_000
_LOG_MS = 10_000
_PASSING = (http.client.REQUEST_TIMEOUT, http.client.TOO_MANY_REQUESTS)
"""Answers between 400 and 499 that another attempt may change."""
_UNKNOWN_MS = 10_000
"""Time for which an unknown id counts as unknown (ms). The registry may have lagged behind its leader."""

Get = Callable[[str], Any]
"""A function from a path of the registry to its JSON. LookupError: not found. LogError: no valid answer."""
Post = Callable[[str, Mapping[str, Any]], Any]
"""A function that posts JSON to a path of the registry and returns its answer. It fails as `Get` does."""


@dataclass(frozen=True)
class WriterSchema:
    """The schema that a writer used. `kind`: AVRO, PROTOBUF or JSON.

    `references`: name and text of the schemas that it needs, each after its own references.
    """

    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Unknown:
    """An id that the registry does not know, until the time `until` (ms)."""

    until: int


class Registry:
    """The cached schemas of one registry. `background`: runs requests, so that callers never wait."""

    def __init__(self, get: Get, background: Background) -> None:
        self.waiting = ""
        self._get = get
        self._background = background
        self._known: dict[int, WriterSchema | _Unknown] = {}
        self._requests: dict[int, Future[WriterSchema | None]] = {}
        self._retry_at = 0

    def schemas(self, ids: Collection[int], now_ms: int) -> Mapping[int, WriterSchema | None] | None:
        """The schemas by id (None: unknown to the registry), or None until it has answered for all.

        Never waits; call again. `waiting` holds a message while the registry does not answer, else "".
        """
        for one in [one for one, future in self._requests.items() if future.done()]:
            self._answer(one, self._requests.pop(one), now_ms)
        found: dict[int, WriterSchema | None] = {}
        for one in ids:
            known = self._known.get(one)
            if isinstance(known, _Unknown) and now_ms < known.until:
                found[one] = None
            elif isinstance(known, WriterSchema):
                found[one] = known
            elif one not in self._requests and now_ms >= self._retry_at:
                self._requests[one] = self._background(lambda one=one: self._fetch(one))  # type: ignore[misc]
        return found if len(found) == len(ids) else None

    def _answer(self, one: int, future: Future[WriterSchema | None], now_ms: int) -> None:
        """Keeps the fetched schema of the id `one`. An unknown id is asked for again ten seconds later.

        After an error `waiting` has its text, and nothing is requested for a second.
        """
        try:
            schema = future.result()
        except Exception as error:  # whatever a registry answers, it holds up its own streams alone
            unforeseen = f"schema {one} cannot be fetched: {one_line(error, repr)}"
            self.waiting = str(error) if isinstance(error, LogError) else unforeseen
            self._retry_at = now_ms + _RETRY_MS
            return
        self.waiting = ""
        self._known[one] = _Unknown(now_ms + _UNKNOWN_MS) if schema is None else schema

    def _fetch(self, one: int) -> WriterSchema | None:
        """Fetches a schema, on any thread. A Protobuf schema is fetched again in the form that needs no compiler."""
        try:
            body = self._body(f"/schemas/ids/{one}")
            kind = str(body.get("schemaType", "AVRO"))
            form = ""
            if kind == "PROTOBUF":
                form = "?format=serialized"
                body = self._body(f"/schemas/ids/{one}{form}")
            references: dict[str, str] = {}
            self._collect(body, form, references, set())
        except LookupError:
            return None
        return WriterSchema(kind, body["schema"], tuple(references.items()))

    def _body(self, path: str) -> Mapping[str, Any]:
        """The answer with a schema. LookupError: the registry knows none. LogError: it is no registry's answer."""
        body = self._get(path)
        if not _has_schema(body):
            raise LogError(f"no schema registry: {path} has no answer with a schema")
        return body  # type: ignore[no-any-return]

    def _collect(self, body: Mapping[str, Any], form: str, found: dict[str, str], visited: set[str]) -> None:
        """`visited`: names of references met so far, so that schemas that name each other come to an end."""
        for reference in body.get("references") or ():
            name = reference["name"]
            if name not in visited:
                visited.add(name)
                subject, version = (quote(str(reference[part]), safe="") for part in ("subject", "version"))
                other = self._body(f"/subjects/{subject}/versions/{version}{form}")
                self._collect(other, form, found, visited)
                found[name] = other["schema"]


def _has_schema(body: Any) -> bool:
    """True if an answer of a registry has a schema, with references that can be followed."""
    if not isinstance(body, dict) or not isinstance(body.get("schema"), str):
        return False
    references = body.get("references") or []
    return isinstance(references, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("name"), str)
        and isinstance(one.get("subject"), str)
        and isinstance(one.get("version"), int | str)
        for one in references
    )


class RegistryLog:
    """Logs now and then that a registry is waited for. `held`: what is held up."""

    def __init__(self, log: logging.Logger, held: str) -> None:
        self._log = log
        self._held = held
        self._logged_at = -_LOG_MS

    def waits(self, why: str, now_ms: int) -> None:
        if now_ms - self._logged_at >= _LOG_MS:
            self._logged_at = now_ms
            self._log.warning("%s: %s", why, self._held)


def register(post: Post, subject: str, schema: WriterSchema) -> int:
    """The id of a schema without references under a subject. It is added unless it is there already.

    The right to read suffices where the schema exists. RefusedError: the registry does not take it. LogError:
    there is no id yet. Both say why.
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


def over_http(url: str, registry_auth: str) -> Get:
    """A `Get` for the registry at `url`. `registry_auth`: as the setting. SettingsError: invalid URL."""
    ask = _client(url, registry_auth)
    return lambda path: ask(path, None)


def posting(url: str, registry_auth: str) -> Post:
    """A `Post` for the registry at `url`; see `over_http`."""
    return _client(url, registry_auth)


def _client(url: str, registry_auth: str) -> Callable[[str, Mapping[str, Any] | None], Any]:
    """A function that sends a path and a JSON body (None: a GET request) to the registry and returns the JSON
    answer.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise SettingsError(
            f"registry {url!r} is not http://HOST:PORT or https://HOST:PORT (a name and password for it go into the "
            "setting registry_auth)"
        )
    headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
    credentials = credentials_for(url, registry_auth)
    doubt = "is registry_auth right?" if credentials else f"no registry_auth holds for it: USER:PASSWORD@{url} would"

    def ask(path: str, body: Mapping[str, Any] | None) -> Any:
        """The JSON answer of the registry. LookupError: it has nothing at this path.

        RefusedError: it refuses the request; LogError for any other failure.
        """
        content = {} if body is None else {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        data = None if body is None else orjson.dumps(body)
        try:
            request = urllib.request.Request(url.rstrip("/") + path, data, {**headers, **content})
            if credentials:  # a redirection may lead elsewhere, and takes this header not along
                basic = "Basic " + base64.b64encode(credentials.encode()).decode()
                request.add_unredirected_header("Authorization", basic)
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
                return orjson.loads(_content(response))
        except urllib.error.HTTPError as error:
            with error:  # closes the connection: the error is the response
                why = "" if body is None else _reason(error)
            if error.code == http.client.NOT_FOUND:
                raise LookupError(path) from error
            hint = f"; {doubt}" if error.code in (401, 403) else ""
            kind = RefusedError if 400 <= error.code < 500 and error.code not in _PASSING else LogError
            raise kind(f"the schema registry at {url} answers {error.code} {error.reason}{why}{hint}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise LogError(f"the schema registry at {url} does not answer ({error})") from error

    return ask


def _content(response: http.client.HTTPResponse | urllib.error.HTTPError) -> bytes:
    """The content of an answer. ValueError: it is too large."""
    content = response.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"its answer has more than {counted(_MOST_BYTES, 'byte')}")
    return content


def _reason(refusal: urllib.error.HTTPError) -> str:
    """The message in a refusal, in a form to append; "" if there is none."""
    try:
        return f": {orjson.loads(_content(refusal))['message']}"
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return ""
