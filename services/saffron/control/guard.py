"""Middlewares in front of the API: errors as JSON, the token, and protection against other sites' pages."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import orjson
from aiohttp import web

from saffron.control.checks import Refused, query_error_body
from saffron.errors import DeniedError, InputError, LogError, OvertakenError, QueryError, SchemaError, SettingsError
from saffron.mapping.yaml_nodes import DefinitionError
from saffron.runtime.process.listening import LOOPBACK

_LOG = logging.getLogger(__name__)
_READS = ("GET", "HEAD")

_H = TypeVar("_H", bound=Callable[..., Awaitable[web.StreamResponse]])
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_OPEN = "open_to_all"
_SCHEME = "bearer "
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def open_to_all(handler: _H) -> _H:
    """Marks a handler whose reads need no token, since it shows no queries or events. All others need it."""
    setattr(handler, _OPEN, True)
    return handler


def answer(body: Any, status: int = 200) -> web.Response:
    """A JSON response."""
    return web.Response(
        body=orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS),
        status=status,
        content_type="application/json",
        headers={"Cache-Control": "no-store"},
    )


def guards(host: str, token: str) -> list[Any]:
    """The middlewares, outermost first. `host`: the listening address."""

    @web.middleware
    async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        """The handler's response, or the JSON body and HTTP status of the error that it raised.

        Any other exception is logged, and becomes 500 without its details.
        """
        try:
            return await handler(request)
        except QueryError as error:
            return answer(query_error_body(error), 400)
        except Refused as error:
            return answer(error.body, error.status)
        except DefinitionError as error:
            return _refusal(400, "definition", str(error))
        except SchemaError as error:
            return _refusal(400, "schema", str(error))
        except DeniedError as error:
            _LOG.warning("%s %s: %s", request.method, request.path, error)
            return _refusal(503, "log", str(error))
        except LogError as error:
            return _refusal(503, "log", str(error))
        except OvertakenError as error:
            return _refusal(409, "overtaken", str(error))
        except SettingsError as error:
            return _refusal(503, "settings", str(error))
        except InputError as error:
            return _refusal(400, "input", str(error))
        except web.HTTPException as error:
            return _refusal(error.status, "http", f"{error.reason}: {request.method} {request.path}")
        except Exception:
            _LOG.exception("%s %s failed", request.method, request.path)
            return _refusal(500, "internal", "this is a fault of the control service; its log has the details")

    @web.middleware
    async def same_origin(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Rejects requests by other sites' pages through a browser on this machine (rebinding, forged posts)."""
        if host in LOOPBACK and _parts(f"//{request.host}").hostname not in LOOPBACK:
            raise Refused(403, "host", f"this service is {host}, not {request.host}")
        origin = request.headers.get("Origin")
        if request.method not in _READS and origin is not None and _parts(origin).netloc != request.host:
            raise Refused(403, "origin", f"a page of {origin} may not change queries here")
        return await handler(request)

    @web.middleware
    async def authorised(request: web.Request, handler: Handler) -> web.StreamResponse:
        if token and not _is_open(request) and not _bears(request.headers.get("Authorization", ""), token):
            raise Refused(401, "token", "a token is needed: send it as `Authorization: Bearer TOKEN`")
        return await handler(request)

    return [errors, same_origin, authorised]


def _parts(url: str) -> SplitResult:
    """The parts of a URL; Refused if it is none."""
    try:
        return urlsplit(url)
    except ValueError:
        raise Refused(403, "host", f"{url!r} is no address of a page or service") from None


def _is_open(request: web.Request) -> bool:
    """True if the request needs no token, by the route that will serve it. A path without a route needs one."""
    return request.method in _READS and getattr(request.match_info.handler, _OPEN, False)


def _bears(header: str, token: str) -> bool:
    """True if the header has the token. Bytes that are no text arrive as surrogates."""
    scheme, given = header[: len(_SCHEME)], header[len(_SCHEME) :].strip()
    return scheme.lower() == _SCHEME and hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())


def _refusal(status: int, kind: str, message: str) -> web.Response:
    return answer(Refused(status, kind, message).body, status)
