"""Why a turn was cancelled (spec/core.md 4.12)."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import frozen

from hookspecs.signal import CancelSignal

__all__ = ["CancelCause", "DisposedCause", "ParentCause", "UserCause", "interrupt_reason_of"]


@frozen
class UserCause:
    """A person, or a program acting for one."""

    kind: ClassVar[str] = "user"


@frozen
class ParentCause:
    """The agent that spawned this one was cancelled."""

    kind: ClassVar[str] = "parent"


@frozen
class DisposedCause:
    """The agent is being disposed; only the agent itself gives this cause."""

    kind: ClassVar[str] = "disposed"


CancelCause = UserCause | ParentCause | DisposedCause


def interrupt_reason_of(signal: CancelSignal) -> Any:
    """Return the cause of an aborted turn signal; ``None`` for a live signal or somebody else's reason."""
    reason = signal.reason
    return reason if signal.aborted and type(reason) in (UserCause, ParentCause, DisposedCause) else None
