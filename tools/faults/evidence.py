"""What a run with a wrong result has seen, on disk: a fault that comes seldom can be looked at then."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from faults.verdict import Results


def keep(seed: int, seen: Mapping[str, Results], logs: Path) -> Path:
    """A new folder with a folder for each name in `seen`, and one for the `logs` of the services.

    Each topic and partition is a file.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"saffron-faults-seed-{seed}-"))
    for name, topics in seen.items():
        (folder / name).mkdir()
        for (topic, partition), lines in topics.items():
            (folder / name / f"{topic}.{partition}.ndjson").write_bytes(b"".join(line + b"\n" for line in lines))
    shutil.copytree(logs, folder / "logs")
    return folder
