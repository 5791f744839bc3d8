"""The embedded broker without a JVM: ports, properties, and what is said when it cannot start."""

from __future__ import annotations

import json
import os
import socket
import stat
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from saffron.runtime.local import jars, jvm, processes
from saffron.runtime.local.broker import Broker, BrokerError
from saffron.runtime.local.ports import free_ports


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `java` that formats at once and, as Kafka, dies with a message."""
    path = tmp_path / "java"
    path.write_text('#!/bin/sh\ncase "$*" in *StorageTool*) exit 0;; *) echo "out of luck"; exit 1;; esac\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(jvm, "find_java", lambda: jvm.Java(path, 17, "17", "test"))
    monkeypatch.setattr(jars, "ensure", lambda name, progress: [])
    monkeypatch.setenv("SAFFRON_CACHE", str(tmp_path / "cache"))
    return path


def test_a_broker_that_dies_gives_its_last_words(java: Path, tmp_path: Path) -> None:
    broker = Broker(tmp_path / "b")
    with pytest.raises(BrokerError, match=r"the broker ended while starting\. Its last words, from .*:\nout of luck"):
        broker.start()
    broker.stop()


def test_a_client_that_gets_no_answer_is_replaced_by_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was told of no controller, just before there is one, may wait for it in vain."""
    asked: list[object] = []

    class Client:
        def __init__(self, settings: dict[str, object]) -> None:
            del settings

        def describe_cluster(self, request_timeout: float) -> Client:
            return self

        def result(self) -> None:
            asked.append(self)
            if len(asked) < 3:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    (tmp_path / "ports.json").write_text(json.dumps({"client": 1, "controller": 2}))
    monkeypatch.setattr("saffron.runtime.local.broker.AdminClient", Client)
    monkeypatch.setattr(Broker, "_wait_for_line", lambda *given: True)
    Broker(tmp_path).ready()
    assert len(set(map(id, asked))) == 3


def test_a_broker_that_was_killed_is_started_after_its_controller_alone(java: Path, tmp_path: Path) -> None:
    java.write_text('#!/bin/sh\nfor last; do :; done\necho "$last" >> "$(dirname "$last")/started"\n')
    kafka = tmp_path / "b" / "kafka"
    kafka.mkdir(parents=True)
    (kafka / "meta.properties").touch()

    def started() -> list[str]:
        with pytest.raises(BrokerError, match="ended while starting"):
            Broker(tmp_path / "b").start()
        names = [Path(line).name for line in (tmp_path / "b" / "started").read_text().splitlines()]
        (tmp_path / "b" / "started").unlink()
        return names

    assert started() == ["controller.properties", "server.properties"]
    assert "PLAINTEXT://" not in (tmp_path / "b" / "controller.properties").read_text()
    (kafka / ".kafka_cleanshutdown").touch()
    assert started() == ["server.properties"]


@pytest.mark.parametrize(("said", "records"), [("Fencing broker 1 at epoch 7", 3), ("nothing", 40)])
def test_a_controller_may_end_once_the_end_of_the_registration_is_on_disk(
    java: Path, tmp_path: Path, said: str, records: int
) -> None:
    log = tmp_path / "b" / "kafka" / "__cluster_metadata-0" / "0.log"
    log.parent.mkdir(parents=True)
    (tmp_path / "b" / "kafka" / "meta.properties").touch()
    java.write_text(
        f"""#!/bin/sh
case "$*" in *controller.properties) ;; *) exit 1;; esac
echo "Kafka Server started"
echo "{said}"
while :; do echo record >> "{log}"; sleep 0.01; done
"""
    )
    broker = Broker(tmp_path / "b")
    with pytest.raises(BrokerError, match="ended while starting"):
        broker.start()
    broker.stop()
    assert len(log.read_text().splitlines()) >= records


def test_ports_are_chosen_once_and_kept_with_the_data(java: Path, tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        broker = Broker(tmp_path / "b")
        with pytest.raises(BrokerError):
            broker.start()
        broker.stop()
        seen.append(broker.bootstrap)
    assert seen[0] == seen[1]
    properties = (tmp_path / "b" / "server.properties").read_text()
    assert f"advertised.listeners=PLAINTEXT://{seen[0]}\n" in properties


def test_a_port_taken_by_another_process_is_an_error_that_says_so(java: Path, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / "ports.json").write_text(json.dumps({"client": port, "controller": free_ports(1)[0]}))
        with pytest.raises(BrokerError, match=rf"^port {port} \(client\), which belongs to the data in .*--fresh`\.$"):
            Broker(tmp_path / "b").start()


def test_a_second_broker_over_the_same_directory_is_refused(java: Path, tmp_path: Path) -> None:
    me = processes.identify(os.getpid())
    assert me is not None
    (tmp_path / "b").mkdir()
    processes.write(tmp_path / "b" / "broker.pid", me)
    with pytest.raises(BrokerError, match=rf"a broker runs already over .* \(pid {os.getpid()}\)"):
        Broker(tmp_path / "b").start()


def test_before_the_first_start_there_is_no_address(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"there is no broker in .* yet: `saffron up` makes one"):
        _ = Broker(tmp_path).bootstrap
