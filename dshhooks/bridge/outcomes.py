"""What comes back from hooks: raw, decoded, folded, and as a whole dispatch; the wire forms of A.8 and A.10."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from attrs import field, frozen
from attrs.validators import in_, instance_of, optional

from dshhooks.bridge.model import Diagnostic, Hook

__all__ = ["Decision", "Dispatch", "Failure", "FoldedOutcome", "Outcome", "RawResult", "Run"]

Decision = Literal["none", "allow", "ask", "deny"]

# Why a run gave no usable answer (A.1). onError does not apply to `aborted`, which is the host's doing; `exit` needs
# `exit_other_is_failure`.
Failure = Literal["spawn-failed", "signal", "timeout", "aborted", "http", "config", "reply", "exit"]


def _texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _exit_code(_instance: object, attribute: Any, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError(f"{attribute.name} must be a whole number or None, not {value!r}")


def _notes(value: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(value)


def _inputs(value: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple(value)


@frozen
class RawResult:
    """What a handler brings back before anybody reads it.

    Args:
        exit_code: The exit code; 0 for a webhook's 2xx and an oracle's answer; ``None`` with a failure.
        stdout: What was printed, the body of a webhook's answer, or an oracle's reply text.
        stderr: What was printed there.
        failure: Why there is no usable answer; ``None`` if there is one.
        error: That in one sentence, for people.
        stdout_truncated: More was printed than is kept.
        stderr_truncated: The same for stderr.
        pipe_held: A child of the hook still held its output when the hook had ended.
        detached: It was started and not waited for.

    Raises:
        TypeError: A value is of the wrong type.
        ValueError: There is no such failure.
    """

    exit_code: int | None = field(default=None, validator=_exit_code)
    stdout: bytes | str = field(default=b"", validator=instance_of((bytes, str)))
    stderr: bytes | str = field(default=b"", validator=instance_of((bytes, str)))
    failure: Failure | None = field(default=None, validator=optional(in_(get_args(Failure))))
    error: str = field(default="", validator=instance_of(str))
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    pipe_held: bool = False
    detached: bool = False


@frozen
class Outcome:
    """One run, decoded (A.7).

    Args:
        exit_code: ``None`` after an infrastructure failure.
        stderr: Decoded text.
        stdout: Decoded text.
        decision: ``none``, ``allow``, ``ask`` or ``deny``.
        reason: Why; ``None`` leaves the words to the host.
        stop: The hook asks the agent to stop, whatever the decision.
        stop_reason: Why.
        contexts: Texts for the model.
        messages: Texts for the user.
        update_input: The tool input the hook would rather see; recorded, never applied.
        plain: Whether stdout is plain text, which some events take as context; not so for JSON.
        failure: The kind of infrastructure failure, if it was one.
        error: That in one sentence.
        notes: What the log should say about the answer.
        said: The decision in the hook's own word, such as ``block``; ``None`` when it decided by its exit code, or not.
    """

    exit_code: int | None = None
    stderr: str = ""
    stdout: str = ""
    decision: Decision = "none"
    reason: str | None = None
    stop: bool = False
    stop_reason: str | None = None
    contexts: tuple[str, ...] = field(default=(), converter=_texts)
    messages: tuple[str, ...] = field(default=(), converter=_texts)
    update_input: Mapping[str, Any] | None = None
    plain: bool = True
    failure: Failure | None = None
    error: str | None = None
    notes: tuple[Diagnostic, ...] = field(default=(), converter=_notes)
    stdout_truncated: bool = False
    stderr_truncated: bool = False
    pipe_held: bool = False
    detached: bool = False
    said: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the wire form of A.8: its members are always there, null for what a hook did not say."""
        document: dict[str, Any] = {
            "exitCode": self.exit_code, "stderr": self.stderr, "stdout": self.stdout, "decision": self.decision,
            "reason": self.reason, "stop": self.stop, "stopReason": self.stop_reason, "contexts": list(self.contexts),
            "messages": list(self.messages), "updateInput": self.update_input,
        }  # fmt: skip
        flags = {"stdoutTruncated": self.stdout_truncated, "stderrTruncated": self.stderr_truncated,
                 "pipeHeld": self.pipe_held, "detached": self.detached}  # fmt: skip
        document.update({name: True for name, value in flags.items() if value})
        return document


@frozen
class FoldedOutcome:
    """All runs of one dispatch as one answer (A.8); without a run everything is neutral.

    ``raw_decision`` and ``raw_reason`` keep a deny that was ``downgraded`` because the event cannot be blocked.
    """

    decision: Decision = "none"
    reason: str | None = None
    stop: bool = False
    stop_reason: str | None = None
    contexts: tuple[str, ...] = field(default=(), converter=_texts)
    messages: tuple[str, ...] = field(default=(), converter=_texts)
    update_inputs: tuple[Mapping[str, Any], ...] = field(default=(), converter=_inputs)
    downgraded: bool = False
    raw_decision: Decision | None = None
    raw_reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the wire form of A.8; reasons and raw members only where there are some."""
        document: dict[str, Any] = {
            "decision": self.decision, "stop": self.stop, "contexts": list(self.contexts),
            "messages": list(self.messages), "updateInputs": list(self.update_inputs), "downgraded": self.downgraded,
        }  # fmt: skip
        extra = {"reason": self.reason, "stopReason": self.stop_reason, "rawDecision": self.raw_decision,
                 "rawReason": self.raw_reason}  # fmt: skip
        return document | {name: value for name, value in extra.items() if value is not None}


@frozen
class Run:
    """One execution of one hook for one dispatch; ``error`` is the infrastructure failure in words, if it was one."""

    hook: Hook
    outcome: Outcome
    duration_ms: float = 0.0
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the run record of A.10."""
        document = {"hook": self.hook.as_json(), "outcome": self.outcome.as_json(), "durationMs": self.duration_ms}
        return document if self.error is None else document | {"error": self.error}


def _runs(value: Iterable[Run]) -> tuple[Run, ...]:
    return tuple(value)


@frozen
class Dispatch:
    """What became of one event."""

    canonical: str
    outcome: FoldedOutcome
    runs: tuple[Run, ...] = field(default=(), converter=_runs)

    def as_json(self) -> dict[str, Any]:
        """Return the answer of ``bridge run`` and of the stdio protocol."""
        runs = [run.as_json() for run in self.runs]
        return {"canonical": self.canonical, "outcome": self.outcome.as_json(), "runs": runs}
