"""Between event classes and JSON: what is read is what was written."""

from __future__ import annotations

from typing import ClassVar

import pytest
from attrs import frozen

from dshhooks.session.codec import Codec
from dshhooks.session.events import UnknownEvent, UserMessage
from dshhooks.session.variants import Variants
from hookspecs.values import UnknownBlock, UserSource


@frozen
class Kept:
    """A plugin's event, tagged as every variant may be."""

    kind: ClassVar[str] = "acme/kept"
    text: str


@frozen
class Sorted:
    """A plugin's event whose field is called like a tag."""

    type: ClassVar[str] = "acme/sorted"
    kind: str


@pytest.mark.parametrize("union", list(Variants().unions))
def test_every_variant_has_its_tag_as_kind(union):
    """decisions.md 7.14: of every union, events of the log included."""
    members = Variants().unions[union].members
    assert {tag: variant.kind for tag, variant in members.items()} == {tag: tag for tag in members}
    assert Variants().unions[union].unknown("acme/odd", {}).kind == "acme/odd"


@pytest.mark.parametrize(("variant", "tag"), [(Kept, "acme/kept"), (Sorted, "acme/sorted")])
def test_an_event_of_a_plugin_is_tagged_under_either_name(variant, tag):
    """By ``kind`` like every variant, or by ``type``, and then ``kind`` is free for a field."""
    variants = Variants()
    with_it = variants.register("session-event", variant)
    codec = Codec(variants)
    assert codec.from_wire(tag, codec.to_wire(variant("x"))) == variant("x")
    with_it.dispose()
    assert isinstance(codec.from_wire(tag, {}), UnknownEvent)


def test_an_unknown_block_made_by_hand_can_be_read_back():
    """Its data need not repeat the tag."""
    codec = Codec(Variants())
    given = UserMessage((UnknownBlock("odd", {"n": 1}),), UserSource())
    back = codec.from_wire("user/message", codec.to_wire(given))
    assert back.content == (UnknownBlock("odd", {"type": "odd", "n": 1}),)
