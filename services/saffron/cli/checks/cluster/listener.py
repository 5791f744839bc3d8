"""The check of TLS and SASL: the protocol of the listener beside that of the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from saffron.cli.finding import Finding, error
from saffron.runtime.log.inspect import RefusedError
from saffron.runtime.log.listener import Listener, probe
from saffron.runtime.process.config import Settings


def check_listener(
    settings: Settings, failure: Exception, ask: Callable[[str, int, str], Listener] = probe
) -> Iterator[Finding]:
    """Findings when no broker answers: each address is probed for its protocol."""
    if isinstance(failure, RefusedError):
        fix = "set SAFFRON_USERNAME and SAFFRON_PASSWORD to those of a Kafka user with SCRAM-SHA-512 (KafkaUser)"
        yield error("security", f"wrong name or password for {settings.username!r}", settings.bootstrap, fix)
        return
    found = list(_addresses(settings, ask))
    yield from found
    if not found:
        fix = "its advertised.listeners must be addresses that are reached from here; see the broker's log"
        yield error("broker", f"it speaks, but a client gets no metadata: {failure}", settings.bootstrap, fix)


def _addresses(settings: Settings, ask: Callable[[str, int, str], Listener]) -> Iterator[Finding]:
    for address in settings.bootstrap.split(","):
        host, _, port = address.strip().rpartition(":")
        if not host or not port.isdigit():
            yield error("broker", f"{address!r} is no HOST:PORT", "setting bootstrap", "--brokers kafka-1:9092,...")
        else:
            yield from _judged(settings, address, ask(host, int(port), settings.ca))


def _judged(settings: Settings, address: str, there: Listener) -> Iterator[Finding]:
    if there.found == "silent":
        fix = "start it (saffron up), or name another with --brokers; is the port right?"
        yield error("broker", f"nothing answers: {there.why}", address, fix)
    elif there.found == "else":
        yield error("broker", "what listens there is no Kafka", address, "name Kafka's port with --brokers")
    elif there.protocol != settings.security:
        speaks = {False: "in the clear", True: "TLS"}[there.encrypted] + (" and wants a name" if there.named else "")
        fix = f"SAFFRON_SECURITY={there.protocol}{_and(there)}"
        yield error("security", f"the listener speaks {speaks}, we are set to {settings.security}", address, fix)
    elif there.untrusted:
        fix = "SAFFRON_CA names the file (PEM) with the certificate of the authority that signed the brokers'"
        yield error("security", f"the listener's certificate is not believed: {there.untrusted}", address, fix)


def _and(there: Listener) -> str:
    more = [" SAFFRON_CA=FILE"] if there.encrypted else []
    return "".join([*more, *([" SAFFRON_USERNAME=NAME SAFFRON_PASSWORD=..."] if there.named else [])])
