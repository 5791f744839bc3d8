"""A broker with an authorizer, of the test's own: one door where everything is allowed, one for users with names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from saffron.runtime.local.broker import Broker
from saffron.runtime.local.ports import free_ports

_SETTINGS = r"""
listeners=PLAINTEXT://127.0.0.1:{client},SASL_PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{client},SASL_PLAINTEXT://127.0.0.1:%d
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config=\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
"""


@dataclass(frozen=True)
class Guarded:
    """Where everything is allowed, where only users are let in, and the broker's own log."""

    open: str
    users: str
    log: Path

    def denied(self) -> list[str]:
        """What it has refused so far."""
        return [line for line in self.log.read_text("utf-8").splitlines() if " is Denied " in line]


@contextmanager
def guarded_broker(directory: Path) -> Iterator[Guarded]:
    """It runs meanwhile, with its data in the directory."""
    (port,) = free_ports(1)
    node = Broker(directory, more=_SETTINGS % (port, port))
    node.start()
    try:
        yield Guarded(node.bootstrap, f"127.0.0.1:{port}", node.log_path)
    finally:
        node.stop()
