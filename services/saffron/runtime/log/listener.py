"""Probe of a network address: nothing, plain Kafka, Kafka with TLS, and whether it requires authentication.

Two Kafka requests suffice. Every listener answers ApiVersions. One that requires authentication closes the connection
at any other request before it.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from dataclasses import dataclass

_SECONDS = 3.0
_API_VERSIONS, _METADATA = 18, 3
_HEAD, _LARGEST = 4, 1 << 20
"""Size limits of an answer in bytes: at least its number, at most a cluster's metadata."""
_METADATA_VERSION, _NO_TOPICS = 4, struct.pack(">ib", 0, 0)


@dataclass(frozen=True)
class Listener:
    """The result of a probe. `found`: "silent" (reason in `why`), "kafka", or "else" for another protocol.

    `untrusted`: why its certificate is not trusted; "" if it is trusted, or there is none.
    """

    found: str
    encrypted: bool = False
    named: bool = False
    untrusted: str = ""
    why: str = ""

    @property
    def protocol(self) -> str:
        """The value for the setting `security`."""
        return {(0, 0): "plaintext", (1, 0): "ssl", (0, 1): "sasl_plaintext", (1, 1): "sasl_ssl"}[
            self.encrypted, self.named
        ]


def probe(host: str, port: int, ca: str = "") -> Listener:
    """Probes the address. `ca`: file with trusted certificates; "": those of the system."""
    try:
        socket.create_connection((host, port), _SECONDS).close()
    except OSError as error:
        return Listener("silent", why=str(error.strerror or error))
    if (named := _kafka(host, port, None)) is not None:
        return Listener("kafka", encrypted=False, named=named)
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    if (named := _kafka(host, port, blind)) is None:
        return Listener("else")
    return Listener("kafka", encrypted=True, named=named, untrusted=_untrusted(host, port, ca))


def _kafka(host: str, port: int, tls: ssl.SSLContext | None) -> bool | None:
    """Whether Kafka there requires authentication; None: it does not speak Kafka in this way."""
    try:
        with contextlib.ExitStack() as stack:
            line: socket.socket = stack.enter_context(socket.create_connection((host, port), _SECONDS))
            if tls is not None:
                line = stack.enter_context(tls.wrap_socket(line, server_hostname=host))
            if not _answers(line, _API_VERSIONS, 0, b""):
                return None
            return not _answers(line, _METADATA, _METADATA_VERSION, _NO_TOPICS)
    except OSError:
        return None


def _answers(line: socket.socket, api: int, version: int, body: bytes) -> bool:
    """Sends one request; whether its answer came."""
    head = struct.pack(">hhih", api, version, api, 7) + b"saffron"
    line.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
    size = struct.unpack(">i", _exactly(line, 4) or bytes(4))[0]
    if not _HEAD <= size <= _LARGEST:
        return False
    return (_exactly(line, size) or bytes(_HEAD))[:_HEAD] == struct.pack(">i", api)


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


def _untrusted(host: str, port: int, ca: str) -> str:
    """Why the TLS certificate is not trusted; "" if it is."""
    try:
        context = ssl.create_default_context(cafile=ca or None)
        with socket.create_connection((host, port), _SECONDS) as line, context.wrap_socket(line, server_hostname=host):
            return ""
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except OSError as error:
        return str(error.strerror or error)
