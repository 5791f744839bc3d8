"""The diagram of topics in services/README.md, drawn from schemas/: `python tools/diagram.py` writes it anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "services" / "README.md"
BEGIN = "<!-- topics: drawn by tools/diagram.py from schemas/ -->"
END = "<!-- end of topics -->"

# In the order of an event's life; services and topics are named nowhere else here.
_ORDER = ("user", "cli", "windowing", "shedder", "matcher", "greta", "model_builder", "control")


def diagram() -> str:
    """A mermaid flowchart: services as boxes, topics as cylinders, an arrow for who writes and who reads."""
    files = [_read(path) for path in sorted((ROOT / "schemas").glob("*.yaml"))]
    topics = sorted(files, key=lambda one: (min(map(_ORDER.index, one["producers"])), one["topic"]))
    services = [name for name in _ORDER if any(name in (*one["producers"], *one["consumers"]) for one in topics)]
    lines = ["flowchart LR"]
    lines += [f"  {_person(name)}" if name in ("user", "cli") else f"  {name}[{name}]" for name in services]
    lines += [f"  {_node(one)}[({one['topic']})]" for one in topics]
    for one in topics:
        for name in sorted(one["producers"], key=_ORDER.index):
            lines.append(f"  {name} --> {_node(one)}")
        for name in sorted(one["consumers"], key=_ORDER.index):
            lines.append(f"  {_node(one)} --> {name}")
    return "```mermaid\n" + "\n".join(lines) + "\n```"


def table() -> str:
    """The topics as a table, for readers of the plain file."""
    rows = ["| topic | written by | read by | key |", "|---|---|---|---|"]
    for path in sorted((ROOT / "schemas").glob("*.yaml")):
        one = _read(path)
        key = one["key"]["description"].strip().rstrip(".")
        writers, readers = ", ".join(one["producers"]), ", ".join(one["consumers"])
        rows.append(f"| [`{one['topic']}`](../schemas/{path.name}) | {writers} | {readers} | {key} |")
    return "\n".join(rows)


def drawn(text: str) -> str:
    """`text` (of services/README.md) with the generated part up to date."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{diagram()}\n\n{table()}\n\n{END}{tail}"


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return found


def _node(one: dict[str, Any]) -> str:
    return "t_" + str(one["topic"]).replace("-", "_").replace(".", "_")


def _person(name: str) -> str:
    return f"{name}([{'saffron command' if name == 'cli' else 'your programs'}])"


if __name__ == "__main__":
    README.write_text(drawn(README.read_text("utf-8")), "utf-8")
