"""Bounds of a merged stream that are set by command: the definition's text has them, and all else stays."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from saffron.control.streams.change import StreamChange, StreamContext
from saffron.control.streams.definitions import plan_bounds, plan_definition
from saffron.mapping.definition_reader import read_definition

LINES = st.sampled_from(
    ["", "{}: 5s\n", "{}: 5s    # an event may be this late\n", '{}: "10 s" # text\n', "{}:  2m  \n", "{}: 1500ms\r\n"]
)
VALUES = st.none() | st.integers(0, 10**7)
SOURCES = "sources:\n- topic: orders  # disorder: 7s\n  disorder: 1s\n  idle: 3s # its own\n"


def now(**streams: object) -> StreamContext:
    return StreamContext("p.", streams, lambda topic: 1, lambda topic: False)  # type: ignore[arg-type]


@settings(deadline=None)
@given(LINES, LINES, LINES, VALUES, VALUES, VALUES)
def test_a_bound_is_changed_and_nothing_else(
    disorders: str, idles: str, silences: str, disorder: int | None, idle: int | None, silence: int | None
) -> None:
    bounds = disorders.format("disorder") + idles.format("idle") + silences.format("silence")
    text = "stream: shop  # of all\n" + bounds + SOURCES
    before = plan_definition(text, now()).record
    change = StreamChange("shop", disorder=disorder, idle=idle, silence=silence)
    found = plan_bounds(change, before, now(shop=before)).record
    assert found.definition is not None
    changed, known = read_definition(found.definition.text), read_definition(text)
    assert changed.disorder == (known.disorder if disorder is None else disorder)
    assert changed.idle == (known.idle if idle is None else idle or None)
    assert changed.silence == found.silence == (known.silence if silence is None else silence or None)
    assert changed.sources == known.sources
    for comment in ("# an event may be this late", "# text", "# its own", "# of all"):
        assert (comment in found.definition.text) == (comment in text)
