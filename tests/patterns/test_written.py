"""What every text case reports is by the contract of its topic, and comes back whole from Avro and Protobuf."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from saffron.runtime.result_formats.forms import FORMS, codec
from tests.patterns.case import Case
from tests.patterns.test_cases import RUNNABLE, ids, results

SCHEMAS = Path(__file__).resolve().parents[2] / "schemas"
CONTRACTS = {
    topic: Draft202012Validator(yaml.safe_load((SCHEMAS / f"{topic}.yaml").read_text("utf-8"))["schema"])
    for topic in ("complex-events", "trends")
}
DETECTED = {"detected_at": 1_795_272_735_626}


EXAMPLES = [path for path in sorted(SCHEMAS.glob("examples/*/valid/*.json")) if path.parts[-3] in CONTRACTS]


@pytest.mark.parametrize("case", RUNNABLE, ids=ids)
def test_results_are_by_the_contract_and_come_back_from_each_format(case: Case) -> None:
    for result in results(case, 1000, restarts=False):
        whole = result | DETECTED
        topic = "trends" if "group" in whole else "complex-events"
        CONTRACTS[topic].validate(whole)
        check(topic, whole)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_come_back_from_each_format(path: Path) -> None:
    check(path.parts[-3], json.loads(path.read_text("utf-8")))


def check(topic: str, result: dict[str, Any]) -> None:
    """Protobuf's maps have no order, Avro's have that of the JSON."""
    for form in FORMS:
        of = codec(form, topic)
        back = json.loads(of.json(of.payload(json.dumps(result).encode())))
        assert list(back) == list(result)
        assert written(back, form) == written(result, form)


def written(result: dict[str, Any], form: str) -> str:
    """As text, so that 1, 1.0 and true are three; integers that no format has are strings."""
    values: dict[str, Any] = result.get("return", {})
    values = {name: str(value) if type(value) is int and value >= 2**63 else value for name, value in values.items()}
    return json.dumps(result | {"return": values}, sort_keys=form != "avro")
