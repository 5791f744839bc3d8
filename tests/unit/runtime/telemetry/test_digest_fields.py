from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from saffron.runtime.telemetry.digest_fields import require_digest

EXAMPLES = sorted((Path(__file__).parents[4] / "schemas" / "examples" / "health" / "valid").glob("*.json"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_digests_of_the_contract_are_read(example: Path) -> None:
    require_digest(orjson.loads(example.read_bytes()))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 3


@pytest.mark.parametrize(
    "fields", [{"at": 1.0}, {"lag": -1}, {"shed": {"why": "x", "share": 0, "keep": None, "estimated": 5}}]
)
def test_digests_beside_the_contract_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="of a digest cannot be"):
        require_digest(fields)
