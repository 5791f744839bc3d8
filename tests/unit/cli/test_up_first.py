"""What `up` looks at before it begins what takes long."""

from __future__ import annotations

from pathlib import Path

import pytest

from saffron.cli.system.launch import prepare
from saffron.errors import DeniedError, LogError, UnavailableError
from saffron.model_builder import prepare as spark
from saffron.runtime.log.kafka import kafka_log
from saffron.runtime.process.config import Settings


class Refusing:
    """A log that answers nothing but `error`."""

    def __init__(self, error: LogError) -> None:
        self.error = error

    def partitions(self, topic: str) -> int:
        raise self.error

    def close(self) -> None:
        pass


@pytest.mark.parametrize("error", [UnavailableError("no broker answers at b:1"), DeniedError("no right to see events")])
def test_what_a_named_broker_says_is_told_as_it_is_and_before_what_takes_long(
    error: LogError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_log, "connect", lambda settings: Refusing(error))
    monkeypatch.setattr(spark, "prepare", lambda step: pytest.fail("Spark was prepared for a system that cannot start"))
    with pytest.raises(LogError) as caught:
        prepare(Settings(data=tmp_path, bootstrap="b:1"), ["windowing", "model_builder"])
    assert caught.value is error
