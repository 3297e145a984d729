"""The system prompt: sections, variables and tools, collected for each request (spec/core.md 8)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from attrs import field, frozen

from dshhooks.engine.hooks import Hooks, Registration
from dshhooks.tools.registry import ToolRegistry
from hookspecs.errors import HarnessError
from hookspecs.model import ToolSchema
from hookspecs.signal import CancelSignal

__all__ = ["PromptAssembly", "PromptContext", "PromptSection", "PromptService"]

_REFERENCE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


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


@frozen
class PromptAssembly:
    """What a request is built from, as ``system_prompt_assemble`` sees and may replace it."""

    sections: tuple[PromptSection, ...] = field(default=(), converter=tuple)
    variables: dict[str, str] = field(factory=dict)
    tools: tuple[ToolSchema, ...] = field(default=(), converter=tuple)

    def render(self, context: PromptContext) -> str | None:
        """Return the system prompt, or ``None`` when there is nothing to say.

        Raises:
            HarnessError: ``INVALID_PROMPT``: a reference is malformed, or names no variable with a value.
        """
        texts = (section.text(context) if callable(section.text) else section.text for section in self.sections)
        return "\n\n".join(text for text in map(self._filled, texts) if text) or None

    def _filled(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            name = match.group(1).strip()
            if not self.variables.get(name):
                raise HarnessError(f"the system prompt refers to {match.group(0)}, which has no value", "INVALID_PROMPT")
            return self.variables[name]

        filled = _REFERENCE.sub(value, text)
        if "{{" in _REFERENCE.sub("", text):
            raise HarnessError("the system prompt has '{{' without '}}'", "INVALID_PROMPT")
        return filled


class PromptService:
    """Collects sections and tools; an agent's own section shadows a global one of the same name."""

    def __init__(self, hooks: Hooks, tools: ToolRegistry) -> None:
        self._hooks, self._tools = hooks, tools
        self._sections: list[tuple[Any, PromptSection]] = []

    def section(self, section: PromptSection, *, agent: object = None) -> Registration:
        """Add a section for everybody, or for one agent.

        Raises:
            HarnessError: ``INVALID_PROMPT``: the name is taken, or the order is not finite.
        """
        if not math.isfinite(section.order):
            raise HarnessError(f"section {section.name!r}: order must be finite", "INVALID_PROMPT")
        if any(owner is agent and known.name == section.name for owner, known in self._sections):
            raise HarnessError(f"there already is a section {section.name!r}", "INVALID_PROMPT")
        entry = (agent, section)
        self._sections.append(entry)
        return Registration(lambda: self._sections.remove(entry) if entry in self._sections else None)

    async def assemble(self, agent: Any, signal: CancelSignal, variables: dict[str, str]) -> tuple[str | None, tuple[ToolSchema, ...]]:
        """Return the rendered system prompt and the tools for one request.

        Raises:
            Exception: What a section or a ``system_prompt_assemble`` hook raised.
        """
        context = PromptContext(agent, signal)
        assembly = PromptAssembly(self._visible(agent), variables, self._schemas(agent))
        plan = self._hooks.plan("system_prompt_assemble", agent)
        if plan.active:
            assembly = await plan.run(plan, (assembly, context), assembly, _as_given)
        return assembly.render(context), assembly.tools

    def _visible(self, agent: Any) -> tuple[PromptSection, ...]:
        seen = {section.name: section for owner, section in self._sections if owner is None}
        seen |= {section.name: section for owner, section in self._sections if owner is agent and agent is not None}
        return tuple(sorted(seen.values(), key=lambda section: section.order))

    def _schemas(self, agent: Any) -> tuple[ToolSchema, ...]:
        schemas = self._tools.schemas(agent)
        return tuple(ToolSchema(**schema) for schema in sorted(schemas, key=lambda schema: str(schema["name"])))


async def _as_given(assembly: PromptAssembly, _context: PromptContext) -> PromptAssembly:
    """The default is the assembly as it reached the innermost point, with what wrappers changed on the way."""
    return assembly
