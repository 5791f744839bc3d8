"""A schema registry for tests: its REST API, as far as schemas are read and added, on a port of this machine."""

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
    """`schemas`: body of GET /schemas/ids/ID; `subjects`: the ids of each; `down`: it answers nothing but 500;
    `closed`: nothing may be added; `redirect`: where it sends those who ask, "" for nowhere. `asked`: the paths asked
    for.
    """

    url: str = ""
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    down: bool = False
    closed: bool = False
    redirect: str = ""
    authorization: str | None = None
    asked: list[str] = field(default_factory=list)

    def add(self, number: int, schema: str, kind: str | None = None) -> None:
        self.schemas[number] = {"schema": schema} | ({"schemaType": kind} if kind else {})

    def answer(self, path: str, told: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """`told`: what is posted."""
        self.asked.append(path)
        if self.down:
            return 500, {"error_code": 50001, "message": "down"}
        if told is not None:
            return self._told(path, told)
        head, _, number = path.partition("?")[0].rpartition("/")
        if head == "/schemas/ids" and int(number) in self.schemas:
            return 200, self.schemas[int(number)]
        return 404, {"error_code": 40403, "message": "Schema not found"}

    def _told(self, path: str, told: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """A schema is looked up under its subject, or added there; a subject keeps to one kind of schema."""
        _, _, subject, *add = path.split("/")
        ids = self.subjects.get(subject, [])
        for number in ids:
            if self.schemas[number] == told:
                return 200, {"subject": subject, "id": number, "version": ids.index(number) + 1, **told}
        if not add:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        if self.closed:
            return 403, {"error_code": 40301, "message": "read only"}
        if any(self.schemas[number]["schemaType"] != told["schemaType"] for number in ids):
            return 409, {"error_code": 409, "message": "incompatible with an earlier schema"}
        number = max(self.schemas, default=0) + 1
        self.schemas[number] = told
        self.subjects[subject] = [*ids, number]
        return 200, {"id": number}


@contextmanager
def running() -> Iterator[FakeRegistry]:
    """One that answers until the end of the block."""
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(None)

        def do_POST(self) -> None:
            self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def answer(self, told: dict[str, Any] | None) -> None:
            registry.authorization = self.headers.get("Authorization")
            status, body = registry.answer(self.path, told)
            content = json.dumps(body).encode()
            self.send_response(302 if registry.redirect else status)
            if registry.redirect:
                self.send_header("Location", registry.redirect + self.path)
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
