"""What a run with a wrong result has seen, on disk: a fault that comes seldom can be looked at then."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from faults.verdict import Results


def keep(
    seed: int,
    found: Results,
    wanted: Results,
    sent: Mapping[int, Sequence[bytes]],
    letters: Mapping[int, Sequence[bytes]],
    logs: Path,
) -> Path:
    """A new folder with what was `found` and `wanted` (a file for each topic and partition), the events and the dead
    letters (a file for each partition), and the `logs` of the services.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"saffron-faults-seed-{seed}-"))
    for name, results in (("found", found), ("wanted", wanted)):
        for (topic, partition), lines in results.items():
            _write(folder / name / f"{topic}.{partition}.ndjson", lines)
    for name, some in (("events", sent), ("dead-letters", letters)):
        for partition, lines in some.items():
            _write(folder / f"{name}.{partition}.ndjson", lines)
    shutil.copytree(logs, folder / "logs")
    return folder


def _write(path: Path, lines: Sequence[bytes]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
