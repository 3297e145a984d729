"""From what a hook left behind to an outcome: exit codes, JSON answers, failures (spec/external-hooks.md A.7).

What an answer's members mean is in ``answer.py``; what many outcomes mean together in ``folding.py``.
"""

from __future__ import annotations

import re
import signal
from typing import Final

from attrs import evolve, frozen

from dshhooks.bridge.answer import Answer, looks_like_json, read_answer, read_object, read_reply
from dshhooks.bridge.dialects import Dialect, Profile, Rules, profile_of, rules
from dshhooks.bridge.events import Event, accepted_names, given_name, resolve
from dshhooks.bridge.model import Diagnostic, Hook, Level, OnError
from dshhooks.bridge.options import Limits
from dshhooks.bridge.outcomes import Failure, Outcome, RawResult
from dshhooks.bridge.text import clean, decode_output, preview

__all__ = ["BLOCKED", "decode_response"]

BLOCKED: Final = "blocked by hook"

_PREVIEW: Final = 500
# An interpreter that was given a script which is not there exits 2 (Python, dash): a deny nobody meant.
_MISSING_SCRIPT: Final = re.compile(
    r"can't open file '[^']*': \[Errno 2\]|^sh: \d+: cannot open .*: No such file", re.M
)


def decode_response(
    raw: RawResult,
    event: str | Event,
    *,
    hook: Hook | None = None,
    dispatched: str | None = None,
    dialect: Dialect = "claude",
    profile: Profile = "current",
    kind: str = "shell",
    on_error: OnError = "warn",
    exit_other_is_failure: bool = False,
    strict_json: bool = False,
    limits: Limits | None = None,
) -> Outcome:
    """Return what a run means. Pure: nothing is started, read or logged; what a log should say is in ``notes``.

    Args:
        raw: What the handler brought back.
        event: Any dialect's name of the event, or its row.
        hook: The hook; it stands for dialect, profile, kind and ``exit_other_is_failure``.
        dispatched: The name the event was dispatched by; ``None``: as ``event`` says.
        dialect: Whose contract the answer follows.
        profile: How literally.
        kind: ``oracle`` answers are a model's reply; all others are read alike.
        on_error: What an infrastructure failure does: ``block`` makes it a deny.
        exit_other_is_failure: Exits other than 0 and 2 are such failures.
        strict_json: Output that looks like JSON and is none is such a failure.
        limits: How long texts for the model may be.

    Raises:
        UnknownEventError: No dialect calls an event that.
    """
    row = event if isinstance(event, Event) else resolve(event)
    name = dispatched or (row.name if isinstance(event, Event) else event)
    if hook is not None:
        dialect, profile, kind = hook.dialect, hook.profile, hook.kind
        exit_other_is_failure = hook.exit_other_is_failure
    given = given_name(row, dialect, hook.spelling if hook is not None else name, name)
    reading = _Reading(
        rules=rules(dialect, profile_of(dialect, profile)),
        names=accepted_names(row, dialect, given, name),
        source=hook.id if hook is not None else "",
        kind=kind,
        other_fails=exit_other_is_failure,
        strict=strict_json,
        limits=limits or Limits(),
        on_error=on_error,
    )
    return reading.failing(reading.outcome(raw))


@frozen
class _Reading:
    rules: Rules
    names: frozenset[str]
    source: str
    kind: str
    other_fails: bool
    strict: bool
    limits: Limits
    on_error: OnError

    def outcome(self, raw: RawResult) -> Outcome:
        """Decode without regard to ``on_error``."""
        base = Outcome(
            exit_code=raw.exit_code,
            stderr=decode_output(raw.stderr),
            stdout=decode_output(raw.stdout),
            stdout_truncated=raw.stdout_truncated,
            stderr_truncated=raw.stderr_truncated,
            pipe_held=raw.pipe_held,
            detached=raw.detached,
        )
        if raw.failure is not None:
            return _failed(base, raw.failure, raw.error or raw.failure)
        if raw.detached:
            return evolve(base, plain=False)
        if raw.exit_code is None or raw.exit_code < 0:
            return _failed(base, "signal", raw.error or _death(raw.exit_code))
        if self.kind == "oracle":
            return self._oracle(base)
        if raw.exit_code == 0:
            return self._success(base)
        return self._refusal(base) if raw.exit_code == 2 else self._other(base, raw.exit_code)

    def failing(self, outcome: Outcome) -> Outcome:
        """Apply ``on_error``: not to what the host aborted, which needs no deny any more."""
        if outcome.failure is None:
            return outcome
        if self.on_error == "block" and outcome.failure != "aborted":
            outcome = evolve(outcome, decision="deny", reason=f"hook failed: {outcome.error}")
        level: Level = "info" if self.on_error == "ignore" or outcome.failure == "aborted" else "warning"
        return self._noted(outcome, level, f"hook-{outcome.failure}", str(outcome.error))

    def _success(self, base: Outcome) -> Outcome:
        text = base.stdout.strip()
        if not text:
            return base
        if not looks_like_json(text):
            return self._plain(base, text)
        if base.stdout_truncated:
            return self._cut(base)
        read = read_object(text)
        if isinstance(read, str):
            return self._broken(base, read)
        return self._answered(base, read_answer(read, self.names, self.limits.context))

    def _plain(self, base: Outcome, text: str) -> Outcome:
        last = text.rpartition("\n")[2].strip()
        if last.startswith("{") and last != text and not isinstance(read_object(last), str):
            return self._noted(base, "warning", "json-after-noise",
                               "the JSON on the last line is not read: something was printed before it",
                               "print nothing else on stdout; shell profiles often do")  # fmt: skip
        return base

    def _cut(self, base: Outcome) -> Outcome:
        message = f"stdout looks like JSON and was cut at {self.limits.stdout} bytes"
        if self.on_error == "block" or self.strict:
            return _failed(base, "reply", message)
        return self._noted(evolve(base, plain=False), "warning", "output-truncated", message)

    def _broken(self, base: Outcome, problem: str) -> Outcome:
        message = f"stdout looks like JSON and is none: {problem}"
        if self.strict:
            return _failed(base, "reply", message)
        return self._noted(base, "warning", "json-looking-output-invalid", message)

    def _refusal(self, base: Outcome) -> Outcome:
        """Exit 2 denies, whatever is printed; the answer may say why, unless it says the opposite."""
        answer = self._read(base) if self.rules.json_on_exit_2 else None
        outcome = base if answer is None else self._answered(base, answer)
        said = None if answer is None or answer.decision == "allow" else answer.reason
        reason = said or clean(base.stderr, self.limits.context).strip() or BLOCKED
        outcome = evolve(outcome, decision="deny", reason=reason, plain=False)
        if _MISSING_SCRIPT.search(base.stderr):
            return self._noted(outcome, "warning", "deny-from-missing-script",
                               "this deny may come from a script that does not exist")  # fmt: skip
        return outcome

    def _other(self, base: Outcome, code: int) -> Outcome:
        answer = self._read(base) if self.rules.json_on_other_exit != "ignored" else None
        outcome = evolve(base, plain=False)
        if answer is not None and self.rules.json_on_other_exit == "read":
            outcome = self._answered(outcome, answer)
        elif answer is not None and answer.decision in ("deny", "ask"):
            outcome = evolve(outcome, decision=answer.decision, reason=answer.reason)
        if self.other_fails and outcome.decision == "none":
            return _failed(outcome, "exit", f"ended with exit code {code}")
        return self._exit_note(outcome, code)

    def _exit_note(self, outcome: Outcome, code: int) -> Outcome:
        said = preview(outcome.stderr, _PREVIEW)
        what = f": {said}" if said else ""
        if code in (126, 127):
            why = "cannot be executed" if code == 126 else "was not found"
            return self._noted(outcome, "warning", "hook-command-not-found", f"the command {why} (exit {code}){what}",
                               "nothing was checked; correct the command")  # fmt: skip
        ended = f" (terminated by {_signal(code - 128)})" if code > 128 else ""
        return self._noted(outcome, "warning", "hook-exit", f"ended with exit code {code}{ended}{what}")

    def _oracle(self, base: Outcome) -> Outcome:
        reply = read_reply(base.stdout)
        if reply is None:
            return _failed(base, "reply", "the model's reply is no JSON object")
        verdict = reply.get("ok")
        if "ok" in reply and not isinstance(verdict, bool):
            return _failed(
                base, "reply", f'the model\'s reply has "ok": {verdict!r:.50}, which is neither true nor false'
            )
        outcome = self._answered(base, read_answer(reply, self.names, self.limits.context))
        if "ok" in reply or outcome.decision != "none":
            return outcome
        return self._noted(
            outcome, "warning", "oracle-no-verdict", 'the model\'s reply has no "ok": nothing was decided'
        )

    def _read(self, base: Outcome) -> Answer | None:
        text = base.stdout.strip()
        if base.stdout_truncated or not looks_like_json(text):
            return None
        read = read_object(text)
        return None if isinstance(read, str) else read_answer(read, self.names, self.limits.context)

    def _answered(self, base: Outcome, answer: Answer) -> Outcome:
        notes = [Diagnostic(level, code, text, self.source) for level, code, text in answer.notes]
        return evolve(
            base,
            decision=answer.decision,
            reason=answer.reason,
            stop=answer.stop,
            stop_reason=answer.stop_reason,
            contexts=answer.contexts,
            messages=answer.messages,
            update_input=answer.update_input,
            plain=False,
            notes=(*base.notes, *notes),
        )

    def _noted(self, outcome: Outcome, level: Level, code: str, message: str, hint: str | None = None) -> Outcome:
        note = Diagnostic(level, code, message, self.source, hint=hint)
        return evolve(outcome, notes=(*outcome.notes, note))


def _failed(base: Outcome, failure: Failure, error: str) -> Outcome:
    """A run without a usable answer: whatever it printed stays in the record and counts for nothing."""
    code = base.exit_code if failure in ("reply", "exit") else None
    return evolve(base, exit_code=code, plain=False, failure=failure, error=error)


def _death(code: int | None) -> str:
    return "ended without an exit code" if code is None else f"killed by {_signal(-code)}"


def _signal(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
