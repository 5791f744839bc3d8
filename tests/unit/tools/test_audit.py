"""The audit of dependencies, against a database of the test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tools.audit import LOCKS, OSV, allowed, main, pins

LOCK = """numpy==2.4.6 ; python_full_version < '3.12' \\
    --hash=sha256:00
numpy==2.5.5 ; python_full_version >= '3.12' \\
    --hash=sha256:11
PyYAML==5.3 \\
    --hash=sha256:22
"""
RECORD = {
    "id": "GHSA-1",
    "aliases": ["CVE-2020-1"],
    "summary": "Loads what it should not.",
    "affected": [
        {
            "package": {"name": "PyYAML", "ecosystem": "PyPI"},
            "ranges": [
                {"type": "GIT", "events": [{"introduced": "0"}, {"fixed": "abc"}]},
                {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "5.4"}]},
            ],
        }
    ],
}


class Database:
    """What it knows, and what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.records: dict[str, dict[str, Any]] = {}
        self.of: dict[tuple[str, str], list[str]] = {}
        self.asked: list[dict[str, Any]] = []
        self.status = 200
        self.says: bytes | None = None

    def answer(self, path: str, body: bytes) -> bytes:
        if self.says is not None:
            return self.says
        if not path.endswith("/v1/querybatch"):
            return json.dumps(self.records[path.rpartition("/")[2]]).encode()
        queries = json.loads(body)["queries"]
        self.asked += queries
        ids = [self.of.get((one["package"]["name"], one["version"]), []) for one in queries]
        return json.dumps(
            {"results": [{"vulns": [{"id": name} for name in some]} if some else {} for some in ids]}
        ).encode()


@pytest.fixture
def osv() -> Iterator[Database]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = database.answer(self.path, body)
            self.send_response(database.status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    database = Database(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield database
    server.shutdown()
    thread.join()
    server.server_close()


def audit(tmp_path: Path, url: str, allow: str = "") -> int:
    lock, project = tmp_path / "some.lock", tmp_path / "pyproject.toml"
    lock.write_text(LOCK)
    project.write_text(f"[tool.saffron.audit]\nallow = [{allow}]\n")
    return main(url, [lock], project)


def test_each_pinned_version_is_asked_for(osv: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(tmp_path, osv.url) == 0
    assert [(one["package"]["name"], one["version"]) for one in osv.asked] == [
        ("numpy", "2.4.6"),
        ("numpy", "2.5.5"),
        ("pyyaml", "5.3"),
    ]
    assert {one["package"]["ecosystem"] for one in osv.asked} == {"PyPI"}
    assert capsys.readouterr().out == "audit: 3 pinned versions, nothing known against them\n"


def test_what_is_known_is_told_once_with_the_version_that_mends_it(
    osv: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    osv.records = {
        "GHSA-1": RECORD,
        "PYSEC-1": {"id": "PYSEC-1", "aliases": ["CVE-2020-1", "GHSA-1"]},
        "GHSA-2": {"id": "GHSA-2", "withdrawn": "2021-01-01T00:00:00Z"},
    }
    osv.of["pyyaml", "5.3"] = ["PYSEC-1", "GHSA-1", "GHSA-2"]
    assert audit(tmp_path, osv.url) == 1
    first, hint = capsys.readouterr().out.splitlines()
    assert first == "audit: pyyaml 5.3: GHSA-1 (CVE-2020-1), fixed in 5.4. Loads what it should not."
    assert "pyproject.toml" in hint


def test_what_is_allowed_with_a_reason_passes_and_is_asked_back_when_it_is_gone(
    osv: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    osv.records, osv.of["pyyaml", "5.3"] = {"GHSA-1": RECORD}, ["GHSA-1"]
    assert audit(tmp_path, osv.url, '{id = "CVE-2020-1", reason = "nothing is loaded"}') == 0
    assert "CVE-2020-1" in capsys.readouterr().out
    osv.of.clear()
    assert audit(tmp_path, osv.url, '{id = "CVE-2020-1", reason = "nothing is loaded"}') == 0
    assert "take it out" in capsys.readouterr().out
    with pytest.raises(ValueError, match="CVE-2020-1 needs an id and a reason"):
        audit(tmp_path, osv.url, '{id = "CVE-2020-1"}')


@pytest.mark.parametrize("says", [b"<html>", b"[]", b"{}", b'{"results": []}'])
def test_a_database_that_cannot_be_asked_is_one_line(
    osv: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], says: bytes
) -> None:
    osv.says = says
    assert audit(tmp_path, osv.url) == 0
    osv.status, osv.says = 503, b""
    assert audit(tmp_path, osv.url) == 0
    assert audit(tmp_path, "http://127.0.0.1:1") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.startswith("audit: left out, http") for line in lines] == [True] * 3


def test_the_lock_files_are_read_whole() -> None:
    text = "".join(path.read_text("utf-8") for path in LOCKS)
    assert len(pins([text])) == len({line for line in text.splitlines() if line and not line.startswith(" ")})
    assert allowed({}) == {}
    assert OSV.startswith("https://")
