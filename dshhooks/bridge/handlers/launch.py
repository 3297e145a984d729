"""Starting a hook's process: its command for this platform, its environment, its folder (A.4.2, A.4.4, A.6.2)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.model import Hook
from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.placeholders import substitute
from dshhooks.engine.process import Command, Ended, run_process

__all__ = ["argv_of", "command_text", "run_command"]

_PLATFORM: Final = {"win32": "windows", "darwin": "osx"}.get(sys.platform, "linux")


def _exported(job: Job) -> dict[str, str]:
    """Return the variables every hook gets; they win over its own ``env``."""
    options = job.options
    values = {"CLAUDE_PROJECT_DIR": job.project_dir}
    for name, path in (("PLUGIN_ROOT", options.plugin_root), ("PLUGIN_DATA", options.plugin_data)):
        if path is not None:
            values |= {name: str(path), f"CLAUDE_{name}": str(path)}
    return values


def command_text(hook: Hook) -> tuple[str, str | None] | None:
    """Return the command for this platform and the shell it is for; ``None``: there is none here."""
    own = hook.platform_commands
    if _PLATFORM in own:
        return own[_PLATFORM], hook.shell
    for shell in ("powershell", "bash") if _PLATFORM == "windows" else ("bash",):
        if shell in own:
            return own[shell], shell
    return None if hook.command is None else (hook.command, hook.shell)


def argv_of(job: Job, text: str, shell: str | None) -> tuple[str, ...]:
    """Return how a hook's command is started: a program with its ``args``, else a shell with a text.

    A POSIX shell expands the placeholders itself, as quoted as their author wrote them; everything else has no such
    variables, so values are put in.
    """
    values, args = _exported(job), job.hook.args
    if args is not None:
        return (substitute(text, values), *(substitute(item, values) for item in args))
    if shell == "powershell":
        program = "powershell" if _PLATFORM == "windows" else "pwsh"
        return (program, "-NoProfile", "-NonInteractive", "-Command", substitute(text, values))
    if shell is None and _PLATFORM == "windows":
        return ("cmd", "/d", "/s", "/c", substitute(text, values))
    return (shell or "/bin/sh", "-lc" if job.options.login_shell else "-c", text)


async def run_command(job: Job, argv: tuple[str, ...], *, stdin: bytes, extra: Mapping[str, str] | None = None
                      ) -> RawResult:  # fmt: skip
    """Run a process for a hook and tell how it ended; never raises for what the process does."""
    cwd = os.path.join(job.cwd, job.hook.cwd or "")
    limits = job.options.limits
    command = Command(
        argv=argv,
        cwd=cwd,
        env={**job.environ, **job.hook.env, **(extra or {}), **_exported(job)},
        stdin=stdin,
        timeout=job.timeout,
        stdout_limit=limits.stdout,
        stderr_limit=limits.stderr,
    )
    try:
        return _raw(await run_process(command), job.timeout)
    except (OSError, ValueError) as exc:
        if _missing(cwd):
            return RawResult(failure="spawn-failed", error=f"working directory {cwd!r} does not exist")
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        return RawResult(failure="spawn-failed", error=f"could not start {argv[0]!r}: {reason}")


def _missing(folder: str) -> bool:
    return not os.path.isdir(folder)


def _raw(ended: Ended, timeout: float) -> RawResult:
    return RawResult(
        exit_code=None if ended.timed_out else ended.exit_code,
        stdout=ended.stdout,
        stderr=ended.stderr,
        failure="timeout" if ended.timed_out else None,
        error=f"timed out after {timeout:g}s" if ended.timed_out else "",
        stdout_truncated=ended.stdout_truncated,
        stderr_truncated=ended.stderr_truncated,
        pipe_held=ended.pipe_held,
    )
