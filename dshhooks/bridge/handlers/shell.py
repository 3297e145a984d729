"""Hooks of kind ``shell``: a command of a shell, or a program with its arguments."""

from __future__ import annotations

from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.handlers.launch import command_text, exported, run_command, shell_argv
from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.placeholders import substitute

__all__ = ["ShellHandler"]


class ShellHandler:
    """Runs a process with the payload on stdin."""

    keeps_time = True

    async def run(self, job: Job) -> RawResult:
        """Run the hook's command, or its override for this platform."""
        found, values = command_text(job.hook), exported(job)
        if found is None:
            known = ", ".join(job.hook.platform_commands)
            return RawResult(failure="config", error=f"there is no command for this platform, only for {known}")
        text, shell = found
        if job.hook.args is not None:
            argv = (substitute(text, values), *(substitute(item, values) for item in job.hook.args))
        else:
            argv = shell_argv(text, shell, values)
        return await run_command(job, argv, stdin=job.stdin)
