"""What a handler is given, and what it brings back (spec/external-hooks.md A.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from attrs import frozen

from dshhooks.bridge.model import Hook
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import RawResult

__all__ = ["Handler", "Job"]


@frozen(kw_only=True)
class Job:
    """One run to be done.

    Args:
        hook: The hook.
        event: The canonical event.
        stdin: The payload as a process gets it.
        body: The payload as JSON, without a newline.
        cwd: The dispatch's working directory, absolute.
        project_dir: What ``CLAUDE_PROJECT_DIR`` says.
        environ: The environment, without the secrets the runtime holds.
        timeout: Seconds it may take.
        options: The runtime's.
    """

    hook: Hook
    event: str
    stdin: bytes
    body: bytes
    cwd: str
    project_dir: str
    environ: Mapping[str, str]
    timeout: float
    options: BridgeOptions


@runtime_checkable
class Handler(Protocol):
    """Runs hooks of one kind. ``run`` is cancelled when the time is over, and when the host cancels."""

    async def run(self, job: Job) -> RawResult:
        """Run one hook; what goes wrong is a ``failure`` of the result, an exception is one too."""
        ...
