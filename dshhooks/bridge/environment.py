"""What hooks see of the environment: not what would let them speak as us (decisions.md 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

from dshhooks.bridge.options import BridgeOptions

__all__ = ["KEY_VARIABLE", "MODEL_KEYS", "hook_environment"]

# Where the command line takes the model's key from.
KEY_VARIABLE: Final = "DSHHOOKS_LLM_KEY"

# What hosts keep the keys of their models in.
MODEL_KEYS: Final = frozenset({
    KEY_VARIABLE, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY",
    "GOOGLE_API_KEY", "MISTRAL_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY",
})  # fmt: skip


def hook_environment(environ: Mapping[str, str], options: BridgeOptions) -> dict[str, str]:
    """Return the environment of hooks, before what each of them adds.

    Left out are the keys of models, and whatever has the value of the runtime's own; ``env_deny`` takes away more,
    ``env_allow`` leaves nothing but what it names. A key that ``env_allow`` names without ``*`` is passed on.
    """
    allow, deny = options.env_allow, options.env_deny
    key = options.llm.api_key if options.llm is not None else None
    if allow is None and not deny and key is None:  # nearly always, and faster than asking about each variable
        kept = dict(environ)
        for name in MODEL_KEYS:
            kept.pop(name, None)
        return kept
    named = frozenset(allow or ())
    return {
        name: value
        for name, value in environ.items()
        if (name in named or not (name in MODEL_KEYS or (key is not None and value == key)))
        and (allow is None or _fits(name, allow))
        and not _fits(name, deny)
    }


def _fits(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
