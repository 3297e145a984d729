"""Hooks of kind ``shell``: a command of a shell, or a program with its arguments."""

from __future__ import annotations

from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.handlers.launch import argv_of, command_text, run_command
from dshhooks.bridge.outcomes import RawResult

__all__ = ["ShellHandler"]


class ShellHandler:
    """Runs a process with the payload on stdin."""

    keeps_time = True

    async def run(self, job: Job) -> RawResult:
        """Run the hook's command, or its override for this platform."""
        found = command_text(job.hook)
        if found is None:
            known = ", ".join(job.hook.platform_commands)
            return RawResult(failure="config", error=f"there is no command for this platform, only for {known}")
        text, shell = found
        return await run_command(job, argv_of(job, text, shell), stdin=job.stdin)
