"""Health over HTTP: /metrics for Prometheus, /healthz (alive), /readyz (ready), /status.

A service is alive while its main loop calls `beat`. The loop goes on while it waits for an absent broker, so this is no
reason for a restart; a hanging loop is.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from saffron.errors import SettingsError
from saffron.runtime.process.listening import family_of
from saffron.runtime.telemetry.metrics import Metrics

_STALE_SECONDS = 30.0
"""Time without a beat after which a service counts as dead."""
_SILENT_SECONDS = 10.0
"""Time for which a thread waits for a client that sends or takes nothing. Then it closes the connection."""


class Health:
    """The health of a service. `clock`: monotonic seconds."""

    def __init__(self, service: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.service = service
        self._clock = clock
        self._beat = clock()
        self._waiting: dict[str, str] = {"start": "starting"}
        self._details: dict[str, Any] = {}
        self._lock = threading.Lock()

    def beat(self) -> None:
        """Records one turn of the main loop."""
        self._beat = self._clock()

    def waiting(self, what: str, reason: str) -> None:
        """Records that the service is not ready. `what`: short name of the obstacle; `reason`: shown to the user."""
        with self._lock:
            self._waiting[what] = reason

    def done(self, what: str) -> None:
        """Removes an obstacle. The service is ready when the last one is gone (`start` is the first)."""
        with self._lock:
            self._waiting.pop(what, None)

    def detail(self, name: str, value: Any) -> None:
        """Sets a detail shown under /status, a JSON value: for example a model's version."""
        with self._lock:
            self._details[name] = value

    @property
    def alive(self) -> bool:
        return self._clock() - self._beat < _STALE_SECONDS

    def status(self) -> Mapping[str, Any]:
        """The content of /status: service, alive, ready, waiting (reason by name), beat_age (s), and the details."""
        with self._lock:
            return {
                "service": self.service,
                "alive": self.alive,
                "ready": not self._waiting,
                "waiting": dict(self._waiting),
                "beat_age": round(self._clock() - self._beat, 3),
                **self._details,
            }


class HealthServer:
    """HTTP server of one process's `Health` and `Metrics`, on its own thread."""

    def __init__(self, health: Health, metrics: Metrics, host: str, port: int) -> None:
        """SettingsError: nobody can listen there. Port 0 takes a free one (see `port`)."""
        handler = type("Handler", (_Handler,), {"health": health, "metrics": metrics})
        try:
            server = type("Server", (ThreadingHTTPServer,), {"address_family": family_of(host, port)})
            self._server = server((host, port), handler)
        except OSError as error:
            raise SettingsError(f"metrics cannot be served at {host}:{port}: {error.strerror or error}") from error
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The listening port."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    health: Health
    metrics: Metrics
    timeout = _SILENT_SECONDS

    def do_GET(self) -> None:
        """Answers a request for one of the pages, or with 404 and their list.

        /healthz is 503 where the service is not alive, /readyz also where it is not ready.
        """
        path = self.path.partition("?")[0]
        status = self.health.status()
        if path == "/metrics":
            self._answer(200, self.metrics.text(), "text/plain; version=0.0.4; charset=utf-8")
        elif path == "/healthz":
            self._answer_json(200 if status["alive"] else 503, status)
        elif path == "/readyz":
            self._answer_json(200 if status["ready"] and status["alive"] else 503, status)
        elif path in ("/", "/status"):
            self._answer_json(200, status)
        else:
            self._answer_json(
                404, {"error": f"no page {path}", "pages": ["/metrics", "/healthz", "/readyz", "/status"]}
            )

    def _answer_json(self, code: int, body: Mapping[str, Any]) -> None:
        self._answer(code, json.dumps(body).encode(), "application/json")

    def _answer(self, code: int, body: bytes, kind: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        # The client has not waited for the answer, or takes none.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, TimeoutError):
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: probes come every few seconds."""
