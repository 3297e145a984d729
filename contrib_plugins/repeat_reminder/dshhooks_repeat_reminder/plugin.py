"""The hooks: count after every call, say something at a threshold, start over with every prompt (spec/core.md 9)."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from typing import Any, Final

from attrs import evolve

from dshhooks import (
    AllowPrompt,
    BlockPrompt,
    HookContext,
    NotLosslessError,
    PluginSource,
    PostToolDecision,
    ToolExecution,
    canonical,
    hookimpl,
)
from dshhooks_repeat_reminder.chains import Chains
from dshhooks_repeat_reminder.options import RepeatReminderOptions, matches

__all__ = ["RepeatReminder"]

_DEFAULTS: Final = RepeatReminderOptions()
_SOURCE: Final = PluginSource("repeat-reminder")


class RepeatReminder:
    """Reminds an agent that repeats itself.

    A chain is the same call in a row: tool name and arguments, whatever the order of their keys. Denied and failed
    calls count. A call of a tool that is not tracked neither counts nor breaks the chain; a prompt does break it. At
    each threshold one context goes in front of those of the decision; the decision itself stays what it is.

    Chains are kept in memory, by agent, and go with the agent. Calls without an agent are ignored.

    Args:
        options: The table ``[plugin.repeat-reminder]``.
    """

    def __init__(self, options: RepeatReminderOptions = _DEFAULTS) -> None:
        self._options = options
        self._thresholds = frozenset(options.thresholds)
        self._lowest = min(options.thresholds)
        self._chains = Chains()

    @hookimpl(wrapper=True)
    def tools_post_execute(self, execution: ToolExecution) -> Generator[None, PostToolDecision, PostToolDecision]:
        """Count the call, let the others decide, then put a reminder in front of their contexts."""
        # Counted first, so that a call counts even when somebody further in raises.
        reminder = self._counted(execution)
        decision = yield
        return decision if reminder is None else evolve(decision, contexts=(reminder, *decision.contexts))

    # A wrapper although it decides nothing: an implementation is not asked once another one has answered.
    @hookimpl(wrapper=True, tryfirst=True)
    def agent_prompt_submit(
        self, agent: Any
    ) -> Generator[None, AllowPrompt | BlockPrompt | None, AllowPrompt | BlockPrompt | None]:
        """Start over: with a new prompt the same call may well make sense."""
        self._chains.forget(agent)
        return (yield)

    @hookimpl
    def agent_disposed(self, agent: Any) -> None:
        """Forget the agent."""
        self._chains.forget(agent)

    def _counted(self, execution: ToolExecution) -> HookContext | None:
        if execution.agent is None or not self._tracked(execution.name):
            return None
        arguments = _text(execution.arguments)
        count = self._chains.count(execution.agent, _key(execution.name, arguments))
        if count not in self._thresholds:
            return None
        if count == self._lowest:
            return HookContext(_nudge(execution.name, count), _SOURCE)
        limit = self._options.arguments_preview_chars
        return HookContext(_detailed(execution.name, count, _preview(arguments or "", limit)), _SOURCE)

    def _tracked(self, name: str) -> bool:
        include, exclude = self._options.include, self._options.exclude
        if include and not any(matches(pattern, name) for pattern in include):
            return False
        return not any(matches(pattern, name) for pattern in exclude)


def _text(arguments: Any) -> str | None:
    """Return the one JSON text of equal arguments; ``None`` when there is none (an integer of thousands of digits)."""
    try:
        return canonical(arguments)
    except NotLosslessError:
        return None


def _key(name: str, arguments: str | None) -> object:
    if arguments is None:
        return object()  # equals nothing: such a call breaks the chain and never makes one
    # A digest, because arguments can be large and a chain lives as long as its agent. The text is ASCII; a name need
    # not be.
    return name, hashlib.sha256(arguments.encode("ascii")).digest()


def _nudge(name: str, count: int) -> str:
    return (
        f"You have called {name} {count} times in a row with the same arguments. "
        "If the results do not help, do something different."
    )


def _detailed(name: str, count: int, preview: str) -> str:
    return (
        f"You have now called {name} {count} times in a row with exactly the same arguments, and nothing changed in "
        f"between.\nArguments: {preview}\n"
        "Calling it once more will most likely bring the same result. Look at the results you already have, then "
        "change the arguments, use another tool, or say what stops you."
    )


def _preview(text: str, limit: int) -> str:
    omitted = len(text) - limit
    return text if omitted <= 0 else f"{text[:limit]}… (characters left out: {omitted})"
