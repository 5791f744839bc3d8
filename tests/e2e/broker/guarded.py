"""A broker with an authorizer, of the test's own: one door where everything is allowed, others for users with names.

The files in `certificates/` are for these tests alone, made with openssl: an authority, a broker's and a client's
certificate that it has signed, and one of a client that another authority has signed. The client's key has the password
`right`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from saffron.runtime.local.broker import Broker
from saffron.runtime.local.ports import free_ports

CERTIFICATES = Path(__file__).parent / "certificates"
_MODULES = "org.apache.kafka.common.security"
_SETTINGS = rf"""
listeners=PLAINTEXT://127.0.0.1:{{client}},SASL_PLAINTEXT://127.0.0.1:%(users)d,SASL_SSL://127.0.0.1:%(tls)d,\
  SSL://127.0.0.1:%(certified)d,CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{client}},SASL_PLAINTEXT://127.0.0.1:%(users)d,\
  SASL_SSL://127.0.0.1:%(tls)d,SSL://127.0.0.1:%(certified)d
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL,\
  CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512,SCRAM-SHA-256,PLAIN,OAUTHBEARER
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:CN=me;User:admin
ssl.keystore.type=PEM
ssl.keystore.location={CERTIFICATES / "server.pem"}
ssl.truststore.type=PEM
ssl.truststore.location={CERTIFICATES / "authority.pem"}
listener.name.ssl.ssl.client.auth=required
""" + "".join(
    rf"""listener.name.{door}.scram-sha-512.sasl.jaas.config={_MODULES}.scram.ScramLoginModule required;
listener.name.{door}.scram-sha-256.sasl.jaas.config={_MODULES}.scram.ScramLoginModule required;
listener.name.{door}.plain.sasl.jaas.config={_MODULES}.plain.PlainLoginModule required user_admin="right";
listener.name.{door}.oauthbearer.sasl.jaas.config={_MODULES}.oauthbearer.OAuthBearerLoginModule required;
"""
    for door in ("sasl_plaintext", "sasl_ssl")
)


@dataclass(frozen=True)
class Guarded:
    """Addresses: `open` allows everything, `users` lets users in in the clear, `tls` encrypted, and `certified` those
    with a certificate. `log`: the broker's own."""

    open: str
    users: str
    tls: str
    certified: str
    log: Path

    def denied(self) -> list[str]:
        """What it has refused so far."""
        return [line for line in self.log.read_text("utf-8").splitlines() if " is Denied " in line]


@contextmanager
def guarded_broker(directory: Path) -> Iterator[Guarded]:
    """It runs meanwhile, with its data in the directory."""
    users, tls, certified = free_ports(3)
    node = Broker(directory, more=_SETTINGS % {"users": users, "tls": tls, "certified": certified})
    node.start()
    try:
        first, second, third = (f"127.0.0.1:{port}" for port in (users, tls, certified))
        yield Guarded(node.bootstrap, first, second, third, node.log_path)
    finally:
        node.stop()
