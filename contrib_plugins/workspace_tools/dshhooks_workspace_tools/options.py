"""The options of the plugin: the table ``[plugin.workspace-tools]``."""

from __future__ import annotations

from typing import Any

import attrs

__all__ = ["MODEL_KEYS", "WorkspaceOptions"]

MODEL_KEYS = (
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
)


def _positive(instance: object, attribute: attrs.Attribute[Any], value: float) -> None:
    # ``not >`` instead of ``<=`` refuses NaN as well.
    if isinstance(value, bool) or not 0 < value < float("inf"):
        raise ValueError(f"{attribute.name} must be a positive finite number, not {value!r}")


def _not_negative(instance: object, attribute: attrs.Attribute[Any], value: float) -> None:
    if isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ValueError(f"{attribute.name} must be zero or a positive finite number, not {value!r}")


def _text(instance: object, attribute: attrs.Attribute[Any], value: str) -> None:
    if not value or "\0" in value:
        raise ValueError(f"{attribute.name} must be a non-empty text without NUL, not {value!r}")


@attrs.frozen
class WorkspaceOptions:
    """Where the workspace is and how much a tool may take.

    Args:
        root: The folder the tools work in; ``"."`` is the working directory at the plugin's start.
        shell: Program that runs ``bash`` commands, called as ``shell -c -- command``; a name or a path.
        bash_timeout: Seconds a command may run when the call names no time.
        max_bash_timeout: Seconds a call may ask for at most; longer wishes are shortened to it.
        kill_grace: Seconds between SIGTERM and SIGKILL when a command is ended.
        drain_grace: Seconds output is still read after the shell has ended and something else holds its pipes.
        keep_background: Leave processes alone that a command started in the background and that outlive it.
            A cancelled or timed-out command is always ended with everything it started.
        hidden_env: Names of environment variables commands do not see (the keys of model providers).
        env: Variables set for every command, on top of the inherited ones.
        max_output_bytes: Bytes of stdout, and of stderr, a command's result keeps.
        max_read_bytes: Bytes ``read_file`` returns at most in one call.
        max_write_bytes: Bytes ``write_file`` accepts.
        max_entries: Entries ``list_files`` returns at most.
        skip_dirs: Folders a recursive listing names but does not enter.
    """

    root: str = attrs.field(default=".", validator=_text)
    shell: str = attrs.field(default="bash", validator=_text)
    bash_timeout: float = attrs.field(default=120.0, validator=_positive)
    max_bash_timeout: float = attrs.field(default=600.0, validator=_positive)
    kill_grace: float = attrs.field(default=2.0, validator=_not_negative)
    drain_grace: float = attrs.field(default=0.5, validator=_not_negative)
    keep_background: bool = False
    hidden_env: tuple[str, ...] = MODEL_KEYS
    env: dict[str, str] = attrs.field(factory=dict)
    max_output_bytes: int = attrs.field(default=32 * 1024, validator=_positive)
    max_read_bytes: int = attrs.field(default=64 * 1024, validator=_positive)
    max_write_bytes: int = attrs.field(default=10 * 1024 * 1024, validator=_positive)
    max_entries: int = attrs.field(default=1000, validator=_positive)
    skip_dirs: tuple[str, ...] = (".git", ".venv", "__pycache__", "node_modules")
