"""What plugins made of an event, before any client's form."""

from __future__ import annotations

from typing import Final, Literal

from hookspecs.plain import Plain

__all__ = ["NONE", "Verdict"]


class Verdict(Plain):
    """What came of an event.

    Args:
        kind: ``none``: no opinion; ``feedback``: what the model is told instead of, or beside, a tool's result;
            ``continue``: the turn shall go on.
        reason: Why, or the text of the feedback or continuation.
        contexts: Texts for the model beside it.
    """

    kind: Literal["none", "allow", "deny", "ask", "feedback", "continue"] = "none"
    reason: str = ""
    contexts: tuple[str, ...] = ()


NONE: Final = Verdict()
