"""What a model call is made with; apart from the rest of the model's vocabulary because a hook answers with it.

Hookspecs are imported by every host, ``hookspecs.model`` only by those that run agents.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from hookspecs.record import Record

__all__ = ["LlmCallConfig", "strings"]


def strings(values: Iterable[str]) -> tuple[str, ...]:
    """Return them as a tuple; a converter."""
    if isinstance(values, str):  # an iterable of letters, which nobody meant
        raise TypeError(f"stop must be a sequence of strings, not {values!r}")
    return tuple(values)


@frozen(eq=False, repr=False)
class LlmCallConfig(Record):
    """Provider, model and sampling of one conversation's requests; ``None`` leaves it to the provider."""

    provider: str
    model: str
    reasoning_effort: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = field(default=(), converter=strings)
