"""What the policy knows about text: arguments, outputs and findings."""

from __future__ import annotations

import enum

from hookspecs.plain import Plain

#: Stands in a text for a piece that cannot be resolved statically. Private use: input that contains it asks.
UNKNOWN = "\ue000"
NO_TAGS: frozenset[str] = frozenset()
MAX_OUT = 80_000


class Arg(Plain):
    """One expanded word.

    Attributes:
        text: the characters, with ``UNKNOWN`` for what could not be resolved.
        tags: where unresolved pieces come from (``sub``, ``net``, ``env:NAME``, ``num``, ``stdin``, ``mktemp`` ...).
        glob: unquoted pattern characters are in it, bash would match file names.
        split: an unquoted unresolved piece is in it, it may become several words or none.
    """

    text: str
    tags: frozenset[str] = NO_TAGS
    glob: bool = False
    split: bool = False

    @property
    def known(self) -> bool:
        """Whether every character is resolved."""
        return UNKNOWN not in self.text

    def with_text(self, text: str) -> Arg:
        """Return this argument with other characters and the same provenance."""
        return self.replaced(text=text)


#: A shell variable's value: a scalar or an array.
Value = Arg | tuple[Arg, ...]


class Out(Plain):
    """What a command prints: the exact text when it is known, and where it comes from."""

    text: str | None = None
    tags: frozenset[str] = NO_TAGS

    def tagged(self, *tags: str) -> Out:
        """Return this output with more provenance."""
        return Out(self.text, self.tags | frozenset(tags))

    def derived(self, *tags: str) -> Out:
        """Return the output of a filter over this one: the text is no longer known."""
        return Out(None, self.tags | frozenset(tags))


def joined(first: Out, second: Out) -> Out:
    """Return what both print, one after the other; text too long to follow counts as unknown."""
    text = None if first.text is None or second.text is None else first.text + second.text
    return Out(text if text is None or len(text) <= MAX_OUT else None, first.tags | second.tags)


NOTHING = Out("")
ANYTHING = Out(None)


class Severity(enum.IntEnum):
    """How bad a finding is; the worst one decides."""

    ASK = 1
    DENY = 2


class Finding(Plain):
    """One reason not to run the command without asking."""

    severity: Severity
    reason: str


def unknown(*tags: str, split: bool = False) -> Arg:
    """Build an argument nothing is known about."""
    return Arg(UNKNOWN, frozenset(tags), split=split)
