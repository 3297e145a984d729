"""From what a hook left behind to an outcome: exit codes, JSON answers, failures (spec/external-hooks.md A.7).

What an answer's members mean is in ``answer.py``; what many outcomes mean together in ``folding.py``.
"""

from __future__ import annotations

import re
import signal
from typing import Final

from attrs import Factory, define

from dshhooks.bridge.answer import NO_ANSWER, Answer, looks_like_json, read_answer, read_object, read_reply
from dshhooks.bridge.dialects import Dialect, Profile, Rules, rules
from dshhooks.bridge.events import Event, accepted_names, given_name, resolve
from dshhooks.bridge.model import Diagnostic, Hook, Level, OnError
from dshhooks.bridge.options import Limits
from dshhooks.bridge.outcomes import Decision, Failure, Outcome, RawResult
from dshhooks.bridge.text import clean, decode_output, preview

__all__ = ["BLOCKED", "decode_response"]

BLOCKED: Final = "blocked by hook"

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
    stderr_cap: int = 500,
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
        stderr_cap: Characters of stderr in notes.

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
        raw=raw,
        stdout=decode_output(raw.stdout),
        stderr=decode_output(raw.stderr),
        rules=rules(dialect, profile),
        names=accepted_names(row, dialect, given, name),
        source=hook.id if hook is not None else "",
        kind=kind,
        strict=strict_json,
        other_fails=exit_other_is_failure,
        on_error=on_error,
        limits=limits or _LIMITS,
        stderr_cap=stderr_cap,
        gating=row.blockable,
    )
    reading.read()
    return reading.outcome()


_LIMITS: Final = Limits()


@define
class _Reading:
    """One run being read: what is known of the outcome so far."""

    raw: RawResult
    stdout: str
    stderr: str
    rules: Rules
    names: frozenset[str]
    source: str
    kind: str
    strict: bool
    other_fails: bool
    on_error: OnError
    limits: Limits
    stderr_cap: int
    gating: bool
    plain: bool = True
    unread: bool = False
    answer: Answer = NO_ANSWER
    decision: Decision = "none"
    said: str | None = None
    reason: str | None = None
    failure: Failure | None = None
    error: str | None = None
    notes: list[Diagnostic] = Factory(list)

    def outcome(self) -> Outcome:
        """Return the outcome, with ``on_error`` applied."""
        raw, answer = self.raw, self.answer
        if self.failure is not None:
            self._apply_policy()
        no_code = self.failure is not None and self.failure not in ("reply", "exit")
        return Outcome(
            exit_code=None if no_code else raw.exit_code,
            stderr=self.stderr,
            stdout=self.stdout,
            decision=self.decision,
            said=self.said,
            reason=self.reason,
            stop=answer.stop,
            stop_reason=answer.stop_reason,
            contexts=answer.contexts,
            messages=answer.messages,
            update_input=answer.update_input,
            plain=self.plain,
            failure=self.failure,
            error=self.error,
            notes=self.notes,
            stdout_truncated=raw.stdout_truncated,
            stderr_truncated=raw.stderr_truncated,
            pipe_held=raw.pipe_held,
            detached=raw.detached,
        )

    def _apply_policy(self) -> None:
        """Make a deny of a failure where the policy says so, or where it may hide one; an abort needs none any more."""
        aborted = self.failure == "aborted"
        if (self.on_error == "block" or self.unread) and not aborted:
            self.decision, self.said, self.reason = "deny", None, f"hook failed: {self.error}"
        level: Level = "info" if self.on_error == "ignore" or aborted else "warning"
        self._note(level, f"hook-{self.failure}", str(self.error))

    def read(self) -> None:
        """Find out what the run means."""
        raw = self.raw
        if raw.failure is not None:
            self._fail(raw.failure, raw.error or raw.failure)
        elif raw.detached:
            self.plain = False
        elif raw.exit_code is None:
            self._lost()
        elif raw.exit_code < 0:
            self._fail("signal", raw.error or f"killed by {_signal(-raw.exit_code)}")
        elif self.kind == "oracle":
            self._reply()
        elif raw.exit_code == 0:
            self._success(self.stdout.strip())
        elif raw.exit_code == 2:
            self._refusal()
        else:
            self._other_exit(raw.exit_code)

    def _lost(self) -> None:
        """It ran, and somebody else was told how it ended: that may have been a deny."""
        self.unread = self.gating
        self._fail("signal", self.raw.error or "ended, and its exit code is lost: this program collects its children "
                                               "elsewhere, or ignores SIGCHLD")  # fmt: skip

    def _success(self, text: str) -> None:
        if not looks_like_json(text):
            self._plain_text(text)
            return
        if self._is_cut(text):
            self._cut()
            return
        read = read_object(text)
        if isinstance(read, str):
            self._broken(read)
        else:
            self._take(read_answer(read, self.names, self.limits.context))

    def _is_cut(self, text: str) -> bool:
        return self.raw.stdout_truncated and looks_like_json(text)

    def _plain_text(self, text: str) -> None:
        last = text.rpartition("\n")[2].strip()
        if looks_like_json(last) and not isinstance(read_object(last), str):
            what = "the JSON on the last line is not read: something was printed before it"
            self._note("warning", "json-after-noise", what, "print nothing else on stdout; shell profiles often do")

    def _cut(self) -> None:
        """Only the beginning of an answer is there: where it could have been a deny it is one (decisions.md 7.28)."""
        what = f"stdout looks like JSON and was cut at {self.limits.stdout} bytes"
        self.unread = self.gating
        if self.gating or self.on_error == "block" or self.strict:
            self._fail("reply", what)
        else:
            self.plain = False
            self._note("warning", "output-truncated", what)

    def _broken(self, problem: str) -> None:
        what = f"stdout looks like JSON and is none: {problem}"
        if self.strict:
            self._fail("reply", what)
        else:
            self._note("warning", "json-looking-output-invalid", what)

    def _refusal(self) -> None:
        """Exit 2 denies, whatever is printed; the answer may say why, unless it says the opposite."""
        answer = self._printed_answer() if self.rules.json_on_exit_2 else None
        said = None
        if answer is not None:
            self._take(answer)
            said = None if answer.decision == "allow" else answer.reason
        self.plain = False
        self.decision, self.said = "deny", None
        self.reason = said or clean(self.stderr, self.limits.context).strip() or BLOCKED
        if _MISSING_SCRIPT.search(self.stderr):
            self._note("warning", "deny-from-missing-script", "this deny may come from a script that does not exist")

    def _other_exit(self, code: int) -> None:
        if self.gating and self.rules.json_on_other_exit != "ignored" and self._is_cut(self.stdout.strip()):
            self._cut()
            return
        answer = self._printed_answer() if self.rules.json_on_other_exit != "ignored" else None
        self.plain = False
        if answer is not None and self.rules.json_on_other_exit == "read":
            self._take(answer)
        elif answer is not None and answer.decision in ("deny", "ask"):
            self.decision, self.said, self.reason = answer.decision, answer.said, answer.reason
        if self.other_fails and self.decision == "none":
            self._fail("exit", f"ended with exit code {code}")
        else:
            self._note_exit(code)

    def _note_exit(self, code: int) -> None:
        said = preview(self.stderr, self.stderr_cap)
        what = f": {said}" if said else ""
        if code in (126, 127):
            why = "cannot be executed" if code == 126 else "was not found"
            hint = "nothing was checked; correct the command"
            self._note("warning", "hook-command-not-found", f"the command {why} (exit {code}){what}", hint)
        else:
            ended = f" (terminated by {_signal(code - 128)})" if code > 128 else ""
            self._note("warning", "hook-exit", f"ended with exit code {code}{ended}{what}")

    def _reply(self) -> None:
        reply = read_reply(self.stdout)
        if reply is None:
            self._fail("reply", "the model's reply is no JSON object")
            return
        verdict = reply.get("ok")
        if "ok" in reply and not isinstance(verdict, bool):
            self._fail("reply", f'"ok" in the model\'s reply is neither true nor false: {verdict!r:.50}')
            return
        self._take(read_answer(reply, self.names, self.limits.context))
        if "ok" not in reply and self.decision == "none":
            self._note("warning", "oracle-no-verdict", 'the model\'s reply has no "ok": nothing was decided')

    def _printed_answer(self) -> Answer | None:
        text = self.stdout.strip()
        if self.raw.stdout_truncated or not looks_like_json(text):
            return None
        read = read_object(text)
        return None if isinstance(read, str) else read_answer(read, self.names, self.limits.context)

    def _take(self, answer: Answer) -> None:
        self.plain = False
        self.answer = answer
        self.decision, self.said, self.reason = answer.decision, answer.said, answer.reason
        for level, code, text in answer.notes:
            self._note(level, code, text)

    def _fail(self, failure: Failure, error: str) -> None:
        """Without a usable answer: whatever was printed stays in the record and counts for nothing."""
        self.plain = False
        self.failure, self.error = failure, error
        self.answer = NO_ANSWER

    def _note(self, level: Level, code: str, message: str, hint: str | None = None) -> None:
        self.notes.append(Diagnostic(level, code, message, self.source, hint=hint))


def _signal(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return f"signal {number}"
