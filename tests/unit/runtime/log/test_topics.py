from __future__ import annotations

from pathlib import Path

import pytest

from saffron.errors import SettingsError
from saffron.records.status import QueryStatus
from saffron.runtime.log import topics as module
from saffron.runtime.log.topics import Topics, schema_folder, stream_topics, topic_files, topic_specs


def test_specs_take_partitions_from_the_stream_or_have_one() -> None:
    specs = {one.name: one for one in topic_specs("p.", 4)}
    assert len(specs) == len(topic_files())
    assert {name for name, one in specs.items() if one.partitions == 1} == {
        "p.queries",
        "p.query-status",
        "p.streams",
        "p.models",
        "p.load",
        "p.health",
    }
    assert {one.partitions for one in specs.values()} == {1, 4}


def test_config_is_text_as_the_broker_wants_it() -> None:
    specs = {one.name: one.config for one in topic_specs("", 1)}
    assert specs["queries"]["cleanup.policy"] == "compact"
    assert specs["queries"]["min.cleanable.dirty.ratio"] == "0.1"
    assert specs["events"]["message.timestamp.type"] == "CreateTime"
    assert int(specs["windows"]["max.message.bytes"]) > 1 << 20
    assert all(isinstance(value, str) for config in specs.values() for value in config.values())


def test_another_stream_has_its_own_internal_topics() -> None:
    names = [one.name for one in stream_topics("p.", "trades", 3)]
    assert names == ["p.trades.windows", "p.trades.admitted"]
    assert [one.partitions for one in stream_topics("p.", "trades", 3)] == [3, 3]
    assert [one.name for one in stream_topics("p.", "events", 3)] == ["p.windows", "p.admitted"]


def test_names_and_streams_are_inverse() -> None:
    topics = Topics("p.")
    for stream in ("events", "trades", "a-b_c"):
        assert topics.stream_of(topics.windows_of(stream)) == stream
        assert topics.stream_of(topics.admitted_of(stream)) == stream
    for other in ("p.events", "p.complex-events", "q.windows", "p.trades.events", "p..windows"):
        assert topics.stream_of(other) is None
    assert topics.named("observations.latency") == topics.observations_latency == "p.observations.latency"
    with pytest.raises(KeyError):
        topics.named("nothing")


def test_status_key_tells_services_and_partitions_apart() -> None:
    assert QueryStatus("rally", 1, "windowing", "events", 3, "ready").key == "rally/windowing/events/3"
    assert QueryStatus("rally", 1, "matcher", "events", None, "ready").key == "rally/matcher/events"


def test_the_installed_package_carries_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "site-packages" / "saffron"
    (installed / "_schemas").mkdir(parents=True)
    (installed / "_schemas" / "events.yaml").touch()
    monkeypatch.setattr(module, "__file__", str(installed / "runtime" / "log" / "topics.py"))
    assert schema_folder() == installed / "_schemas"


def test_a_broken_installation_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "__file__", str(tmp_path / "saffron" / "runtime" / "log" / "topics.py"))
    with pytest.raises(SettingsError, match="install saffron again"):
        schema_folder()
