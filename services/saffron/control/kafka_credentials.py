"""The credentials of Faust's client of Kafka, from the security settings of all clients."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp
import faust
import orjson
from aiokafka.abc import AbstractTokenProvider

from saffron.errors import SettingsError
from saffron.runtime.log.security.python_security import python_obstacles, tls_context
from saffron.runtime.log.security.security import Security

_ASK_SECONDS = 10.0
_USED_FOR = 0.8
"""The part of a token's life after which a new one is requested, as librdkafka does."""
_UNSECURED_SECONDS = 3600


def credentials(security: Security) -> Any:
    """Faust's credentials; None: neither encryption nor authentication. SettingsError: aiokafka has no such thing."""
    if obstacles := python_obstacles(security):
        raise SettingsError(f"Faust's client of Kafka (control) would not be let in: {obstacles[0]}")
    context = tls_context(security) if security.encrypted else None
    if not security.named:
        return context
    if security.by_password:
        return faust.SASLCredentials(
            username=security.username,
            password=security.password,
            ssl_context=context,
            mechanism=security.mechanism,
        )
    return faust.auth.OAuthCredentials(oauth_cb=Tokens(security), ssl_context=context)


class Tokens(AbstractTokenProvider):
    """The tokens of OAUTHBEARER: an identity provider's (client credentials), or unsecured ones for test brokers."""

    def __init__(self, security: Security, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since 1970."""
        self._security = security
        self._clock = clock
        self._token, self._until = "", 0.0

    async def token(self) -> str:
        """A token that is valid for a while. ConnectionError: the provider gives none.

        Faust's consumer and producer call from loops of their own, so that no lock of one loop is possible: at worst
        both ask for one.
        """
        now = self._clock()
        if now >= self._until:
            self._token, life = await self._asked() if self._security.by_oidc else self._unsecured(now)
            self._until = now + life * _USED_FOR
        return self._token

    def extensions(self) -> Mapping[str, str]:
        """The SASL extensions sent with a token."""
        return self._security.extensions

    def _unsecured(self, now: float) -> tuple[str, float]:
        claims = {"sub": self._security.principal, "iat": int(now), "exp": int(now) + _UNSECURED_SECONDS}
        parts = (base64.urlsafe_b64encode(orjson.dumps(one)).rstrip(b"=").decode() for one in ({"alg": "none"}, claims))
        return ".".join(parts) + ".", _UNSECURED_SECONDS

    async def _asked(self) -> tuple[str, float]:
        """(token, seconds of its life) from the identity provider."""
        more = self._security.more
        url = more.get("sasl.oauthbearer.token.endpoint.url", "")
        form = {"grant_type": "client_credentials"}
        if scope := more.get("sasl.oauthbearer.scope"):
            form |= {"scope": scope}
        login = f"{more.get('sasl.oauthbearer.client.id', '')}:{more.get('sasl.oauthbearer.client.secret', '')}"
        head = {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}
        tls = ssl.create_default_context(cafile=more.get("https.ca.location"))
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(_ASK_SECONDS)) as session,
                session.post(url, data=form, headers=head, ssl=tls) as answer,
            ):
                answer.raise_for_status()
                found = orjson.loads(await answer.read())
            return str(found["access_token"]), float(found["expires_in"])
        except (aiohttp.ClientError, TimeoutError, ValueError, LookupError, TypeError) as error:
            raise ConnectionError(f"no token from {url}: {type(error).__name__} {error}") from None
