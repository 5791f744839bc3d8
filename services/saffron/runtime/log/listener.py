"""Probe of a network address: nothing, plain Kafka, Kafka with TLS, and how it requires authentication.

Few Kafka requests suffice. Every listener answers ApiVersions. One that requires SASL closes the connection at any
other request before it, and answers a handshake with its mechanisms. One that requires a client's certificate ends the
TLS connection with an alert.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from saffron.runtime.log.security.python_security import load_certificate, tls_context
from saffron.runtime.log.security.security import Security

_SECONDS = 3.0
_API_VERSIONS, _METADATA, _HANDSHAKE = 18, 3, 17
_HEAD, _LARGEST = 4, 1 << 20
"""Size limits of an answer in bytes: at least its number, at most a cluster's metadata."""
_METADATA_VERSION, _NO_TOPICS = 4, struct.pack(">ib", 0, 0)
_NONE = Security()
_NO_MECHANISM = struct.pack(">h", 4) + b"NONE"
_ALERTS = ("ALERT", "HANDSHAKE_FAILURE")
"""Words in the names of TLS errors that the other side has sent."""


@dataclass(frozen=True)
class Listener:
    """The result of a probe. `found`: "silent" (reason in `why`), "kafka", or "else" for another protocol.

    `untrusted`: why its certificate is not trusted; "" if it is trusted, or there is none. `refused`: the TLS alert by
    which it refuses our certificate, or that we show none; "" if it does not. `mechanisms`: of SASL.
    """

    found: str
    encrypted: bool = False
    named: bool = False
    untrusted: str = ""
    why: str = ""
    refused: str = ""
    mechanisms: tuple[str, ...] = ()

    @property
    def protocol(self) -> str:
        """The value for the setting `security`."""
        return {(0, 0): "plaintext", (1, 0): "ssl", (0, 1): "sasl_plaintext", (1, 1): "sasl_ssl"}[
            self.encrypted, self.named
        ]


def probe(host: str, port: int, security: Security = _NONE) -> Listener:
    """Probes the address. `security`: which certificates are trusted, and ours. SettingsError: they cannot be used."""
    try:
        socket.create_connection((host, port), _SECONDS).close()
    except OSError as error:
        return Listener("silent", why=str(error.strerror or error))
    if (found := _kafka(host, port, None)) is not None:
        return found
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    if security.encrypted and security.certificate:
        load_certificate(blind, security)
    if (found := _kafka(host, port, blind)) is None:
        return Listener("else")
    return replace(found, encrypted=True, untrusted=_untrusted(host, port, security))


def _kafka(host: str, port: int, tls: ssl.SSLContext | None) -> Listener | None:
    """Kafka there, and whether it requires authentication; None: it does not speak Kafka in this way."""
    try:
        with _line(host, port, tls) as line:
            if _answer(line, _API_VERSIONS, 0, b"") is None:
                return None
            if _answer(line, _METADATA, _METADATA_VERSION, _NO_TOPICS) is not None:
                return Listener("kafka")
        with _line(host, port, tls) as line:
            return Listener("kafka", named=True, mechanisms=_mechanisms(_answer(line, _HANDSHAKE, 1, _NO_MECHANISM)))
    except ssl.SSLError as error:
        alert = error.reason or ""
        return Listener("kafka", refused=alert) if any(one in alert for one in _ALERTS) else None
    except OSError:
        return None


@contextlib.contextmanager
def _line(host: str, port: int, tls: ssl.SSLContext | None) -> Iterator[socket.socket]:
    with contextlib.ExitStack() as stack:
        line: socket.socket = stack.enter_context(socket.create_connection((host, port), _SECONDS))
        yield line if tls is None else stack.enter_context(tls.wrap_socket(line, server_hostname=host))


def _mechanisms(answer: bytes | None) -> tuple[str, ...]:
    """The mechanisms in an answer to a handshake: an error code, their number, and texts behind their lengths."""
    found: list[str] = []
    with contextlib.suppress(struct.error):
        at = 6
        for _ in range(struct.unpack_from(">i", answer or b"", 2)[0]):
            (size,) = struct.unpack_from(">h", answer or b"", at)
            found.append((answer or b"")[at + 2 : at + 2 + size].decode("utf-8", "replace"))
            at += 2 + size
    return tuple(found)


def _answer(line: socket.socket, api: int, version: int, body: bytes) -> bytes | None:
    """Sends one request; its answer behind its number, or None if none came."""
    head = struct.pack(">hhih", api, version, api, 7) + b"saffron"
    line.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    size = struct.unpack(">i", _exactly(line, 4) or bytes(4))[0]
    if not _HEAD <= size <= _LARGEST:
        return None
    answer = _exactly(line, size) or bytes(_HEAD)
    return answer[_HEAD:] if answer[:_HEAD] == struct.pack(">i", api) else None


def _exactly(line: socket.socket, size: int) -> bytes | None:
    """The next `size` bytes, or None if the other side closes before."""
    read = b""
    while len(read) < size:
        try:
            part = line.recv(size - len(read))
        except ConnectionError:
            return None
        if not part:
            return None
        read += part
    return read


def _untrusted(host: str, port: int, security: Security) -> str:
    """Why the TLS certificate is not trusted; "" if it is."""
    try:
        with _line(host, port, tls_context(security)):
            return ""
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except OSError as error:
        return str(error.strerror or error)
