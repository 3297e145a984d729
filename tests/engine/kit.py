"""The smallest chains: a few plugins around one hook."""

from __future__ import annotations

from typing import Any

from dshhooks.engine.faults import HookNote
from dshhooks.engine.hooks import Hooks
from tests.tools.kit import Plugin, wrap

PROMPT = "system_prompt_assemble"  # a decide hook without a closed set of answers: made for playing


def hooks(*plugins: Any) -> Hooks:
    """Hooks with these plugins, the first outermost."""
    made = Hooks()
    for plugin in reversed(plugins):
        made.register(plugin)
    return made


async def ask(*plugins: Any, assembly: Any = "prompt") -> Any:
    return await hooks(*plugins).call(PROMPT, assembly=assembly, context=None)


def assembling(function: Any, name: str = "plugin") -> Plugin:
    return Plugin(name, **{PROMPT: function})


def around(function: Any, name: str = "wrapper") -> Plugin:
    return assembling(wrap(function), name)


def answer(value: Any, name: str = "plugin") -> Plugin:
    return assembling(lambda assembly, context: value, name)


def notes(exc: BaseException) -> list[tuple[str, str]]:
    return [(note.hook, note.plugin) for note in getattr(exc, "__notes__", []) if isinstance(note, HookNote)]
