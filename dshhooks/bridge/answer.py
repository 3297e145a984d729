"""The JSON answer of a hook: how it is found in text, and what its members mean (spec/external-hooks.md A.6.7, A.7)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn

from attrs import Factory, define, frozen

from dshhooks.bridge.model import Level
from dshhooks.bridge.outcomes import Decision
from dshhooks.bridge.text import clean

__all__ = ["DENIED", "NO_ANSWER", "Answer", "looks_like_json", "read_answer", "read_object", "read_reply"]

DENIED: Final = "denied by evaluation"

_TOP: Final[Mapping[str, Decision]] = {"approve": "allow", "block": "deny"}
_SCOPED: Final[Mapping[str, Decision]] = {"allow": "allow", "deny": "deny", "ask": "ask"}
_DECISIONS: Final[Mapping[str, Decision]] = {**_TOP, **_SCOPED}
_BLOCK: Final = "hookSpecificOutput"

Note = tuple[Level, str, str]


@frozen
class Answer:
    """The members that count, in the words of an outcome; ``said`` is the decision in the hook's own."""

    decision: Decision = "none"
    reason: str | None = None
    stop: bool = False
    stop_reason: str | None = None
    contexts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    update_input: Mapping[str, Any] | None = None
    notes: tuple[Note, ...] = ()
    said: str | None = None


NO_ANSWER: Final = Answer()


def looks_like_json(text: str) -> bool:
    """Say whether trimmed output is meant as an answer; arrays and quoted strings are plain text."""
    return text.startswith("{")


def read_object(text: str) -> dict[str, Any] | str:
    """Return the one JSON object a text is, or what is wrong with it. A duplicate key keeps its last value."""
    try:
        value = _decode(text)
    except json.JSONDecodeError as exc:
        if exc.msg == "Extra data":
            return f"extra data after the first object at char {exc.pos}"
        return f"{exc.msg} at char {exc.pos}"
    except RecursionError:
        return "nested too deep"
    except ValueError as exc:
        return str(exc)
    return value if isinstance(value, dict) else f"not an object but {type(value).__name__}"


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _number(text: str) -> float | None:
    """Return a number; null for one like 1e999, which is JSON and cannot be written as JSON again."""
    value = float(text)
    return value if math.isfinite(value) else None


_decode: Final[Callable[[str], Any]] = json.JSONDecoder(parse_constant=_constant, parse_float=_number).decode


def read_reply(text: str) -> dict[str, Any] | None:
    """Return the object in a model's reply: the reply itself, else the first fenced block that is one."""
    text = text.strip().removeprefix("\ufeff").strip()
    for candidate in (text, *_fenced(text)):
        read = read_object(candidate.strip())
        if not isinstance(read, str):
            return read
    return None


_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\r\n]*\r?$", re.M)
_INLINE: Final = re.compile(r"(?:```|~~~)[ \t]*\w*[ \t]*(\{[^\r\n]*\})[ \t]*(?:```|~~~)")


def _fenced(text: str) -> Iterator[str]:
    """The contents of fences: three or more backticks or tildes on a line, closed by as many of the same."""
    opening: re.Match[str] | None = None
    for found in _FENCE.finditer(text):
        if opening is None:
            opening = found
        elif found[1].startswith(opening[1]):
            yield text[opening.end() : found.start()]
            opening = None
    if opening is not None:
        yield text[opening.end() :]
    for inline in _INLINE.finditer(text):
        yield inline[1]


def read_answer(document: Mapping[str, Any], names: frozenset[str], limit: int) -> Answer:
    """Return what an answer says.

    A member of the wrong type is as good as absent, and noted. ``ok`` is heard whatever the event block says.

    Args:
        document: The answer.
        names: What ``hookEventName`` may say; with another name the event block is dropped.
        limit: How long texts may be.
    """
    members = _Members(document, "", limit)
    said, reason = members.word("decision", _TOP), members.text("reason")
    own_reason = reason
    stop, verdict = members.flag("continue") is False, members.flag("ok")
    stop_reason = members.text("stopReason") if stop else None
    messages, contexts = members.texts("systemMessage"), members.texts("additionalContext")
    block = _block(document, names, members)
    update_input = None
    if block is not None:
        scoped = _Members(block, f"{_BLOCK}.", limit, members.notes)
        said = scoped.word("permissionDecision", _SCOPED) or said
        reason = scoped.text("permissionDecisionReason") or reason
        contexts += scoped.texts("additionalContext")
        update_input = _rewrite(scoped)
    decision = "none" if said is None else _DECISIONS[said]
    if verdict is False:
        # Why a block would allow it is not why it is denied.
        reason = (own_reason if decision in ("allow", "ask") else reason) or DENIED
        decision, said = "deny", None
    return Answer(decision, reason, stop, stop_reason, contexts, messages, update_input, tuple(members.notes), said)


def _rewrite(scoped: _Members) -> Mapping[str, Any] | None:
    """A tool's sealed input is never exchanged; the wish is recorded (decisions.md 7.28)."""
    if "updatedToolOutput" in scoped.document:
        scoped.note(
            "warning", "answer-rewrites-output", "updatedToolOutput is not applied: block with a reason instead"
        )
    wish = scoped.object("updatedInput")
    if wish is not None:
        scoped.note("warning", "answer-rewrites-input", "updatedInput is recorded and not applied")
    return wish


def _block(document: Mapping[str, Any], names: frozenset[str], members: _Members) -> Mapping[str, Any] | None:
    """The event block, if it is about this event."""
    block = members.object(_BLOCK)
    if block is None:
        return None
    name = block.get("hookEventName")
    if name is None:
        members.note("warning", "answer-without-event", f"{_BLOCK} has no hookEventName; it is taken for this event's")
        return block
    if name in names if isinstance(name, str) else False:
        return block
    shown = ", ".join(sorted(names))
    members.note(
        "warning", "answer-for-another-event", f"{_BLOCK} is dropped: hookEventName is {name!r:.80}, not {shown}"
    )
    return None


@define
class _Members:
    """Reads members by type."""

    document: Mapping[str, Any]
    prefix: str
    limit: int
    notes: list[Note] = Factory(list)

    def note(self, level: Level, code: str, text: str) -> None:
        self.notes.append((level, code, text))

    def wrong(self, name: str, wanted: str) -> None:
        self.note("info", "answer-field-ignored", f"{self.prefix}{name} is ignored: it must be {wanted}")

    def word(self, name: str, words: Mapping[str, Decision]) -> str | None:
        value = self.document.get(name)
        if value is None:
            return None
        if isinstance(value, str) and value in words:
            return value
        if value == "defer":
            self.note("info", "answer-defers", f"{self.prefix}{name} defers: no opinion")
            return None
        self.note("warning", "answer-decision-unknown",
                  f"{self.prefix}{name} is {value!r:.80}, no decision: write {' or '.join(words)}")  # fmt: skip
        return None

    def flag(self, name: str) -> bool | None:
        value = self.document.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.wrong(name, "true or false")
        return None

    def text(self, name: str) -> str | None:
        """A text that is not empty, cleaned."""
        value = self.document.get(name)
        if isinstance(value, str):
            return clean(value, self.limit) or None
        if value is not None:
            self.wrong(name, "a text")
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.text(name)
        return () if value is None or not value.strip() else (value,)

    def object(self, name: str) -> Mapping[str, Any] | None:
        value = self.document.get(name)
        if isinstance(value, dict):
            return value
        if value is not None:
            self.wrong(name, "an object")
        return None
