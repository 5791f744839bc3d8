"""A schema registry for tests: its REST API, as far as schemas are read from it, on a port of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class FakeRegistry:
    """`schemas`: body of GET /schemas/ids/ID; `down`: it answers nothing but 500. `asked`: the paths asked for."""

    url: str = ""
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    down: bool = False
    authorization: str | None = None
    asked: list[str] = field(default_factory=list)

    def add(self, number: int, schema: str, kind: str | None = None) -> None:
        self.schemas[number] = {"schema": schema} | ({"schemaType": kind} if kind else {})

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        self.asked.append(path)
        if self.down:
            return 500, {"error_code": 50001, "message": "down"}
        head, _, number = path.partition("?")[0].rpartition("/")
        if head == "/schemas/ids" and int(number) in self.schemas:
            return 200, self.schemas[int(number)]
        return 404, {"error_code": 40403, "message": "Schema not found"}


@contextmanager
def running() -> Iterator[FakeRegistry]:
    """One that answers until the end of the block."""
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.authorization = self.headers.get("Authorization")
            status, body = registry.answer(self.path)
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=lambda: server.serve_forever(0.01), daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
