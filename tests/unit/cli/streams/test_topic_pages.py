"""Every block of docs/topics and docs/streams.md: files are read, commands run, and print what the pages say."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.cli.page import Reader, blocks_of, fits

DOCS = Path(__file__).parents[4] / "docs"
PAGES = [*sorted((DOCS / "topics").glob("*.md")), DOCS / "streams.md"]
LINKED = [*PAGES, DOCS / "compare.md", *sorted((DOCS / "coming-from").glob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)(?P<file>[^)#\s]*)(?:#(?P<section>[^)\s]+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_shows_is_what_is_printed(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reader = Reader(monkeypatch, capsys, tmp_path)
    for commands, shown, printed in reader.follow(page):
        assert "Traceback" not in printed, printed
        assert not shown or fits(shown, printed), f"{commands}\nthe page shows:\n{shown}\nprinted:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_are_of_a_kind_that_is_tested(page: Path) -> None:
    for block in blocks_of(page):
        assert block.name or block.kind in ("sh", "text"), block


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.stem)
def test_links_lead_to_files_and_sections(page: Path) -> None:
    for link in LINK.finditer(page.read_text("utf-8")):
        target = (page.parent / link["file"]).resolve() if link["file"] else page
        assert target.exists(), link[0]
        if link["section"]:
            assert link["section"] in sections(target), link[0]


def sections(page: Path) -> set[str]:
    """The names of a page's sections, as links have them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_the_table_of_fields_has_every_field() -> None:
    schema = json.loads((DOCS.parent / "schemas" / "stream.schema.json").read_text("utf-8"))
    told = set(re.findall(r"`([a-z_.]+)`", (DOCS / "streams.md").read_text("utf-8")))
    source = schema["$defs"]["source"]["properties"]
    fields = {*schema["properties"], *(f"sources.{name}" for name in source)}
    fields |= {f"sources.type.{name}" for name in source["type"]["oneOf"][1]["properties"]}
    fields |= {f"sources.ts.{name}" for name in source["ts"]["oneOf"][1]["properties"]}
    rule = source["attributes"]["additionalProperties"]["oneOf"][1]["properties"]
    fields |= {f"sources.attributes.{name}" for name in rule}
    origins = {"field", "from", "header", "message"}
    assert {name for name in fields if name not in told and name.rpartition(".")[2] not in told & origins} == set()


def test_the_table_of_reasons_has_every_reason() -> None:
    found = {
        reason
        for path in (DOCS.parent / "services" / "saffron" / "mapping").glob("*.py")
        for reason in re.findall(r'MessageError\(\s*"([a-z-]+)"', path.read_text("utf-8"))
    }
    told = set(re.findall(r"`([a-z-]+)`", (DOCS / "streams.md").read_text("utf-8").partition("## Delivery")[2]))
    assert len(found) > 7
    assert found <= told
