"""Topics: names and settings. Their only source is the files in schemas/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from saffron.errors import SettingsError
from saffron.runtime.log import TopicSpec

DEFAULT_STREAM = "events"
"""The stream that always exists; its topics' names have no stream name in them."""


_REPLICAS = 3
"""The copies of a partition with which one broker may die while another one is away."""


@dataclass(frozen=True)
class TopicFile:
    """One file of schemas/, with the fields that services need (schemas/README.md explains them).

    `partitions` None: as many as the stream's source topic has.
    """

    topic: str
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    partitions: int | None
    config: Mapping[str, str]

    def spec(self, name: str, partitions: int) -> TopicSpec:
        """The settings to create topic `name` with. `partitions`: their number, unless the file has one."""
        count = partitions if self.partitions is None else self.partitions
        return TopicSpec(name, count, self.config)


class Topics:
    """Full names of all topics under a prefix. No other code composes them."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.events = prefix + "events"
        self.windows = prefix + "windows"
        self.admitted = prefix + "admitted"
        self.complex_events = prefix + "complex-events"
        self.trends = prefix + "trends"
        self.dead_letters = prefix + "dead-letters"
        self.queries = prefix + "queries"
        self.query_status = prefix + "query-status"
        self.streams = prefix + "streams"
        self.models = prefix + "models"
        self.load = prefix + "load"
        self.health = prefix + "health"
        self.observations_transitions = prefix + "observations.transitions"
        self.observations_latency = prefix + "observations.latency"
        self.observations_features = prefix + "observations.features"

    @property
    def control(self) -> tuple[str, ...]:
        """The topics of control records that services follow."""
        return self.queries, self.query_status, self.streams

    def windows_of(self, stem: str) -> str:
        """The topic of a stream's ordered blocks. `stem`: `StreamRecord.stem`."""
        return self._of(stem, "windows")

    def admitted_of(self, stem: str) -> str:
        """The topic of a stream's blocks after the shedder. `stem`: `StreamRecord.stem`."""
        return self._of(stem, "admitted")

    def named(self, topic: str) -> str:
        """The full name of a topic, by the name in its file. KeyError: there is no such file."""
        return self.prefix + topic_files()[topic].topic

    def stream_of(self, topic: str) -> str | None:
        """The stream of an internal topic (windows or admitted); None for other topics."""
        if not topic.startswith(self.prefix):
            return None
        rest = topic.removeprefix(self.prefix)
        if rest in ("windows", "admitted"):
            return DEFAULT_STREAM
        stem, _, name = rest.rpartition(".")
        stream, _, generation = stem.partition(".")
        if not stream or name not in ("windows", "admitted"):
            return None
        return stream if not generation or generation.isdecimal() else None

    def _of(self, stem: str, topic: str) -> str:
        return self.prefix + (topic if stem == DEFAULT_STREAM else f"{stem}.{topic}")


def topic_specs(prefix: str, partitions: int) -> list[TopicSpec]:
    """All topics of a system, with those of the default stream, which has `partitions` partitions."""
    return [one.spec(prefix + one.topic, partitions) for one in topic_files().values()]


def stream_topics(prefix: str, stem: str, partitions: int) -> list[TopicSpec]:
    """The internal topics of a stream with `partitions` source partitions. `stem`: `StreamRecord.stem`."""
    topics = Topics(prefix)
    files = topic_files()
    return [
        files["windows"].spec(topics.windows_of(stem), partitions),
        files["admitted"].spec(topics.admitted_of(stem), partitions),
    ]


def replicas_of(asked: int, brokers: int) -> int:
    """The copies of a new topic's partitions. `asked`: by the settings; 0: three, or as many as there are brokers."""
    return asked or min(_REPLICAS, brokers)


@cache
def topic_files() -> Mapping[str, TopicFile]:
    """All files of schemas/ by topic, sorted by file name. SettingsError: the installation has none."""
    folder = schema_folder()
    files = (_read(path) for path in sorted(folder.glob("*.yaml")))
    return {one.topic: one for one in files}


def schema_folder() -> Path:
    """The folder of the files: in the installed package, else at the root of the repository."""
    package = Path(__file__).resolve().parents[2]
    return _first_folder((package / "_schemas", package.parents[1] / "schemas"))


def _first_folder(candidates: Iterable[Path]) -> Path:
    tried = tuple(candidates)
    for folder in tried:
        if (folder / "events.yaml").is_file():
            return folder
    places = " or ".join(str(one) for one in tried)
    raise SettingsError(f"the topics' files (schemas/*.yaml) are missing in {places}: install saffron again")


def _read(path: Path) -> TopicFile:
    """The contents of one file of schemas/. KeyError: a field is missing."""
    import yaml  # here, since modules that name topics do not read their settings

    raw = yaml.safe_load(path.read_text("utf-8"))
    partitions = raw["partitions"]
    return TopicFile(
        topic=raw["topic"],
        producers=tuple(raw["producers"]),
        consumers=tuple(raw["consumers"]),
        partitions=None if partitions == "stream" else int(partitions),
        config={name: str(value) for name, value in raw["config"].items()},
    )
