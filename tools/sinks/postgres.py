"""A PostgreSQL server of its own, in a folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_USER = "postgres"


@dataclass(frozen=True)
class Postgres:
    """A server that runs. `port`: on this machine."""

    programs: Path
    port: int

    @property
    def connection(self) -> dict[str, str]:
        """The properties by which a JDBC sink connects."""
        url = f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"
        return {"connection.url": url, "connection.username": _USER, "connection.password": ""}

    def rows(self, query: str) -> list[list[str]]:
        """The rows of a query as text; a missing table has none."""
        words = ["-h", "127.0.0.1", "-p", str(self.port), "-U", _USER, "-AtF", "\t", "-c", query]
        done = subprocess.run([self.programs / "psql", *words], capture_output=True, text=True, check=False)
        return [line.split("\t") for line in done.stdout.splitlines()]


@contextmanager
def server(folder: Path) -> Iterator[Postgres]:
    """A new server until the end of the block. SystemExit: PostgreSQL is not installed."""
    programs = _programs()
    folder.mkdir(parents=True)
    if os.geteuid() == 0:  # the server does not run as root
        shutil.chown(folder, _USER)
    port = free_port()
    data = folder / "data"
    _run([str(programs / "initdb"), "-D", str(data), "-A", "trust", "-U", _USER])
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    control = str(programs / "pg_ctl")
    _run([control, "-D", str(data), "-l", str(folder / "log"), "-w", "-o", options, "start"])
    try:
        yield Postgres(programs, port)
    finally:
        _run([control, "-D", str(data), "-m", "immediate", "stop"])


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


def _programs() -> Path:
    """The folder of PostgreSQL's programs, which Debian keeps out of PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if found:
        return found[-1]
    if (control := shutil.which("pg_ctl")) is not None:
        return Path(control).parent
    raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")


def _run(words: Sequence[str]) -> None:
    other = ["runuser", "-u", _USER, "--"] if os.geteuid() == 0 else []
    done = subprocess.run([*other, *words], capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise SystemExit(f"{words[0]}: status {done.returncode}\n{done.stderr}{done.stdout}")
