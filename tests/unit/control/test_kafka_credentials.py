"""Faust's credentials of the security settings, and the tokens of an identity provider."""

from __future__ import annotations

import asyncio
from base64 import urlsafe_b64decode

import faust
import orjson
import pytest
from aiohttp import web

from saffron.control.kafka_credentials import Tokens, credentials
from saffron.errors import SettingsError
from saffron.runtime.log.security.security import Security

_UNSECURED = {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.config": "principal=me"}


def test_each_way_has_its_credentials() -> None:
    assert credentials(Security()) is None
    made = credentials(Security("sasl_plaintext", username="me", password="p", password_mechanism="SCRAM-SHA-256"))
    assert isinstance(made, faust.SASLCredentials)
    assert made.mechanism.value == "SCRAM-SHA-256"
    made = credentials(Security("sasl_ssl", more=_UNSECURED))
    assert (made.protocol.value, type(made.oauth_cb)) == ("SASL_SSL", Tokens)
    with pytest.raises(SettingsError, match=r"\(control\) would not be let in: GSSAPI"):
        credentials(Security("sasl_ssl", more={"sasl.mechanism": "GSSAPI"}))


def test_an_unsecured_token_names_the_user() -> None:
    head, claims, signature = asyncio.run(Tokens(Security("sasl_ssl", more=_UNSECURED), lambda: 100).token()).split(".")
    assert orjson.loads(urlsafe_b64decode(head + "==")) == {"alg": "none"}
    assert orjson.loads(urlsafe_b64decode(claims + "==")) == {"sub": "me", "iat": 100, "exp": 3700}
    assert signature == ""


def test_a_provider_is_asked_once_for_each_token_and_its_refusal_is_told() -> None:
    asked: list[dict[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        form = await request.post()
        asked.append({"login": request.headers["Authorization"], **{name: str(form[name]) for name in form}})
        if len(asked) == 3:
            return web.Response(status=401)
        return web.json_response({"access_token": f"t{len(asked)}", "expires_in": 100})

    async def run() -> list[str]:
        application = web.Application()
        application.router.add_post("/token", answer)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        now = 0.0
        tokens = Tokens(
            Security(
                "sasl_ssl",
                more={
                    "sasl.mechanism": "OAUTHBEARER",
                    "sasl.oauthbearer.method": "oidc",
                    "sasl.oauthbearer.client.id": "me",
                    "sasl.oauthbearer.client.secret": "secret",
                    "sasl.oauthbearer.scope": "kafka",
                    "sasl.oauthbearer.token.endpoint.url": f"http://{host}:{port}/token",
                    "sasl.oauthbearer.extensions": "logicalCluster=l,identityPoolId=p",
                },
            ),
            lambda: now,
        )
        assert tokens.extensions() == {"logicalCluster": "l", "identityPoolId": "p"}
        found = []
        for now in (0.0, 79.0, 81.0):  # noqa: B007 (the clock reads it)
            found.append(await tokens.token())
        now = 200.0
        with pytest.raises(ConnectionError, match="/token: ClientResponseError 401") as refused:
            await tokens.token()
        assert "secret" not in str(refused.value)
        await runner.cleanup()
        return found

    assert asyncio.run(run()) == ["t1", "t1", "t2"]
    assert asked[0] == {"login": "Basic bWU6c2VjcmV0", "grant_type": "client_credentials", "scope": "kafka"}
