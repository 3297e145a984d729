"""Hooks of kind ``proxy``: a command that runs an agent for us (A.4.3)."""

from __future__ import annotations

import json
from typing import Final

from dshhooks.bridge.dialects import rules
from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.handlers.launch import argv_of, run_command
from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.payloads import encode
from dshhooks.bridge.placeholders import prompt_text

__all__ = ["ProxyHandler"]

# Linux takes no environment string of more than 128 KiB; a longer prompt is on stdin only.
_LONGEST_VARIABLE: Final = 120 * 1024


class ProxyHandler:
    """Runs the hook's command, or the runtime's runner, with the prompt on stdin and in ``HOOK_PROMPT``."""

    keeps_time = True

    async def run(self, job: Job) -> RawResult:
        """Run the agent's command; it answers like a shell hook."""
        hook, runner = job.hook, job.options.proxy
        command = hook.command or (runner.command if runner is not None else None)
        if command is None:
            return RawResult(failure="config", error="no command for this proxy: set `command` on the hook, or "
                                                     "BridgeOptions(proxy=...)")  # fmt: skip
        payload = job.body.decode("utf-8")
        prompt = prompt_text(hook.prompt or "", payload, append=rules(hook.dialect, hook.profile).append_payload)
        stdin = encode({**json.loads(payload), "prompt": prompt}, newline=job.stdin.endswith(b"\n"))
        return await run_command(job, argv_of(job, command, hook.shell), stdin=stdin, extra=_variable(prompt))


def _variable(prompt: str) -> dict[str, str]:
    """The prompt as a variable, where it can be one: lone surrogates and NUL cannot."""
    try:
        size = len(prompt.encode("utf-8"))
    except UnicodeEncodeError:
        return {}
    return {"HOOK_PROMPT": prompt} if size <= _LONGEST_VARIABLE and "\0" not in prompt else {}
