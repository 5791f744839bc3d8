"""Topics and users are those that schemas/ asks for."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from saffron.runtime.log.topics import topic_specs
from tests.contracts.k8s.validation import faults
from tools.k8s_topics import TOPICS, USERS, topics, users

PREFIX = "saffron."


def loaded(text: str) -> list[dict[str, Any]]:
    return list(yaml.load_all(text, yaml.CSafeLoader))


def test_the_files_are_current() -> None:
    assert topics() == TOPICS.read_text("utf-8"), "run `python tools/k8s_topics.py`"
    assert users() == USERS.read_text("utf-8"), "run `python tools/k8s_topics.py`"


def test_topics_are_those_that_up_would_create() -> None:
    made = {one["metadata"]["name"]: one["spec"] for one in loaded(topics())}
    specs = {one.name: one for one in topic_specs(PREFIX, 12)}
    assert made.keys() == specs.keys()
    for name, spec in specs.items():
        config = {key: str(value) for key, value in made[name]["config"].items()}
        assert (made[name]["partitions"], config) == (spec.partitions, {**spec.config, "min.insync.replicas": "2"})


def test_a_stream_has_topics_of_its_own_and_everyone_may_use_them() -> None:
    more = {one["metadata"]["name"] for one in loaded(topics(["bids"]))} - {
        one["metadata"]["name"] for one in loaded(topics())
    }
    assert more == {"saffron.bids", "saffron.bids.windows", "saffron.bids.admitted"}
    assert (
        allowed("saffron-shedder", ["bids"]).items()
        >= {
            "topic saffron.bids.windows": ["Read"],
            "topic saffron.bids.admitted": ["Read", "Write"],
        }.items()
    )


@pytest.mark.parametrize("stream", ["events_by_sector", "Bids", "_x-", "shop.2"])
def test_every_name_of_a_stream_has_resources_that_kubernetes_takes(stream: str) -> None:
    made = {one["spec"].get("topicName", one["metadata"]["name"]): one for one in loaded(topics([stream, "other"]))}
    names = {f"saffron.{stream}", f"saffron.{stream}.windows", f"saffron.{stream}.admitted"}
    assert names <= made.keys()
    resources = [one["metadata"]["name"] for one in made.values()]
    assert len(set(resources)) == len(resources)
    for name in resources:
        assert all(re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", part) for part in name.split(".")), name
    for one in made.values():
        assert faults(one) == []


def test_windowing_may_make_streams_from_others_but_write_no_event_into_the_default_one() -> None:
    rules = allowed("saffron-windowing", ["bids"])
    assert rules["topic saffron.events"] == ["Read"]
    assert rules["topic saffron.bids"] == ["Read", "Write"]
    assert rules["group saffron.router.*"] == ["Read"]
    assert rules["transactionalId saffron.router.*"] == ["Write"]


def test_a_user_may_do_what_its_service_does_and_no_more() -> None:
    assert allowed("saffron-greta") == {
        "topic saffron.admitted": ["Read"],
        "topic saffron.dead-letters": ["Write"],
        "topic saffron.health": ["Write"],
        "topic saffron.load": ["Write"],
        "topic saffron.queries": ["Read"],
        "topic saffron.query-status": ["Read", "Write"],
        "topic saffron.streams": ["Read"],
        "topic saffron.trends": ["Write"],
        "group saffron.greta": ["Read"],
        "group saffron.*": ["Describe"],
        "transactionalId saffron.greta.*": ["Write"],
    }


def allowed(user: str, streams: list[str] | None = None) -> dict[str, list[str]]:
    (found,) = [one for one in loaded(users(streams or [])) if one["metadata"]["name"] == user]
    rules = found["spec"]["authorization"]["acls"]
    return {
        f"{one['resource']['type']} {one['resource']['name']}"
        + "*" * (one["resource"]["patternType"] == "prefix"): one["operations"]
        for one in rules
    }
