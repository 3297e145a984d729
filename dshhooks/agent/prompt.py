"""The system prompt: sections, variables and tools, collected for each request (spec/core.md 8)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from attrs import field, frozen

from dshhooks.engine.hooks import Hooks, Registration
from dshhooks.tools.layers import Entry
from dshhooks.tools.registry import ToolRegistry
from hookspecs.errors import HarnessError, InvalidDecisionError, NotLosslessError, error_message
from hookspecs.json import freeze
from hookspecs.model import ToolSchema
from hookspecs.signal import CancelSignal

__all__ = ["PromptAssembly", "PromptContext", "PromptSection", "PromptService"]

_REFERENCE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@frozen
class PromptSection:
    """One part of the system prompt.

    Args:
        name: Unique among the sections an agent sees.
        text: The text, or a function from the :class:`PromptContext` to it.
        order: Ascending; -100 identity, 0 persona, 100 to 199 tool guidance.
    """

    name: str
    text: str | Callable[[PromptContext], str]
    order: float = 0.0


@frozen
class PromptContext:
    """Who a prompt is assembled for."""

    agent: Any
    signal: CancelSignal


def _as_sections(value: Iterable[PromptSection]) -> tuple[PromptSection, ...]:
    return tuple(value)


def _as_schemas(value: Iterable[ToolSchema]) -> tuple[ToolSchema, ...]:
    return tuple(value)


def _as_variables(value: Mapping[str, str]) -> Mapping[str, str]:
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"prompt variable {name!r} must be a str, not {type(text).__name__}")
    frozen_: Mapping[str, str] = freeze(dict(value))
    return frozen_


@frozen
class PromptAssembly:
    """What a request is built from, as ``system_prompt_assemble`` sees and may replace it."""

    sections: tuple[PromptSection, ...] = field(default=(), converter=_as_sections)
    variables: Mapping[str, str] = field(default={}, converter=_as_variables)
    tools: tuple[ToolSchema, ...] = field(default=(), converter=_as_schemas)

    def render(self, context: PromptContext) -> str | None:
        """Return the system prompt, or ``None`` when there is nothing to say.

        Raises:
            HarnessError: ``INVALID_PROMPT``: a reference is malformed, or names no variable with a value.
        """
        texts = (section.text(context) if callable(section.text) else section.text for section in self.sections)
        return "\n\n".join(text for text in map(self._filled, texts) if text) or None

    def _filled(self, text: str) -> str:
        # A value is text, whatever it holds: what is looked at is the section as it was written.
        if "{{" in _REFERENCE.sub("", text):
            raise HarnessError("the system prompt has '{{' without '}}'", "INVALID_PROMPT")
        return _REFERENCE.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        name = match.group(1).strip()
        if not _NAME.fullmatch(name):
            raise HarnessError(f"the system prompt has {match.group(0)!r}, which is no reference", "INVALID_PROMPT")
        if not self.variables.get(name):
            raise HarnessError(f"the system prompt refers to {match.group(0)!r}, which has no value", "INVALID_PROMPT")
        return self.variables[name]


@frozen
class _Variable:
    name: str
    value: str | Callable[[PromptContext], str | None]


class PromptService:
    """Collects sections, variables and tools; an agent's own section or variable shadows a global one of its name."""

    def __init__(self, hooks: Hooks, tools: ToolRegistry) -> None:
        self._hooks, self._tools = hooks, tools
        self._sections: list[tuple[Any, PromptSection]] = []
        self._variables: list[tuple[Any, _Variable]] = []

    def section(self, section: PromptSection, *, agent: object = None) -> Registration:
        """Add a section for everybody, or for one agent.

        Raises:
            HarnessError: ``INVALID_PROMPT``: the name is taken, or the order is not finite.
        """
        if not math.isfinite(section.order):
            raise HarnessError(f"section {section.name!r}: order must be finite", "INVALID_PROMPT")
        return _add(self._sections, agent, section, "section")

    def variable(
        self, name: str, value: str | Callable[[PromptContext], str | None], *, agent: object = None
    ) -> Registration:
        """Give ``{{name}}`` a value for everybody, or for one agent; the loop's own variables cannot be replaced.

        Args:
            name: Letters, digits and ``_ . -``, not beginning with a digit.
            value: The text, or a function from the :class:`PromptContext` to it, asked for every request; ``None`` and
                ``""`` are no value.
            agent: Whose; everybody's by default.

        Raises:
            HarnessError: ``INVALID_PROMPT``: the name is taken, or none that could be referred to.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise HarnessError(f"{name!r} cannot be the name of a prompt variable", "INVALID_PROMPT")
        return _add(self._variables, agent, _Variable(name, value), "variable")

    async def assemble(
        self, agent: Any, signal: CancelSignal, variables: Mapping[str, str]
    ) -> tuple[str | None, tuple[ToolSchema, ...]]:
        """Return the rendered system prompt and the tools for one request.

        Args:
            agent: Whose request it is.
            signal: The turn's signal.
            variables: The loop's own.

        Raises:
            Exception: What a section, a variable or a ``system_prompt_assemble`` hook raised.
        """
        context = PromptContext(agent, signal)
        sections = sorted(_visible(self._sections, agent), key=lambda section: section.order)
        assembly = PromptAssembly(sections, {**self._values(context), **variables}, self._schemas(agent))
        plan = self._hooks.plan("system_prompt_assemble", agent)
        if plan.active:
            assembly = await plan.run(plan, (assembly, context), assembly, _as_given)
            if not isinstance(assembly, PromptAssembly):
                what = f"hook 'system_prompt_assemble' came to {type(assembly).__name__}; expected PromptAssembly"
                raise InvalidDecisionError(what)
        return assembly.render(context), assembly.tools

    def _values(self, context: PromptContext) -> dict[str, str]:
        values = {}
        for variable in _visible(self._variables, context.agent):
            value = variable.value(context) if callable(variable.value) else variable.value
            if value is not None:
                values[variable.name] = value
        return values

    def _schemas(self, agent: Any) -> tuple[ToolSchema, ...]:
        told = [_told(entry) for entry in self._tools.entries(agent)]
        return tuple(sorted(told, key=attrgetter("name")))


def _told(entry: Entry) -> ToolSchema:
    """Return what a request says of a tool: made once, and frozen, as long as its parameters stay what they are."""
    definition, told = entry.definition, entry.told
    if told is None or told.parameters != definition.parameters:
        try:
            parameters = freeze(definition.parameters)
        except NotLosslessError as exc:
            raise NotLosslessError(f"parameters of tool {definition.name!r}: {error_message(exc)}") from exc
        told = entry.told = ToolSchema(definition.name, definition.description, parameters)
    return told


async def _as_given(assembly: PromptAssembly, _context: PromptContext) -> PromptAssembly:
    """The default is the assembly as it reached the innermost point, with what wrappers changed on the way."""
    return assembly


def _add(entries: list[tuple[Any, Any]], agent: object, thing: Any, what: str) -> Registration:
    if any(owner is agent and known.name == thing.name for owner, known in entries):
        raise HarnessError(f"there already is a {what} {thing.name!r}", "INVALID_PROMPT")
    entry = (agent, thing)
    entries.append(entry)
    return Registration(lambda: entries.remove(entry))


def _visible(entries: list[tuple[Any, Any]], agent: object) -> list[Any]:
    seen = {thing.name: thing for owner, thing in entries if owner is None}
    if agent is not None:
        seen |= {thing.name: thing for owner, thing in entries if owner is agent}
    return list(seen.values())
