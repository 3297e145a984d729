"""``classify``: one command text in, one decision out, never an exception."""

from __future__ import annotations

from hookspecs.decisions import Allow, Ask, Deny

from .engine import Engine
from .options import ShellPolicyOptions
from .patterns import later
from .rules import Rules
from .second_opinion import disagreement
from .values import Finding, Severity

Decision = Allow | Ask | Deny

#: Characters that make a command look different from what it is, or that terminals obey.
_DECEPTIVE = later(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ue000-\uf8ff\U000e0000-\U000e007f\ud800-\udfff]"
)
#: Invisible or blank-like characters that do not separate words in a shell but look as if (or as if nothing) did.
_INVISIBLE = later(
    "[\u00a0\u00ad\u034f\u115f\u1160\u1680\u180e\u2000-\u200b\u202f\u205f\u2060-\u2064\u3000\u3164\ufeff\uffa0]"
)
_DEFAULT = ShellPolicyOptions()
MAX_REASONS = 4


def classify(command: str, rules: ShellPolicyOptions | None = None) -> Decision:
    """Decide about a shell command by what it would run.

    Args:
        command: the text the shell tool would be given.
        rules: the user's patterns and limits; the default rules apply in any case.

    Returns:
        ``Allow()``, ``Ask(reason)`` or ``Deny(reason)``. Whatever cannot be judged asks; nothing is raised.
    """
    options = rules or _DEFAULT
    if not isinstance(command, str):
        return Ask("the command is not text")
    if len(command) > options.max_length:
        return Ask(f"the command is too long to judge ({len(command)} characters, at most {options.max_length})")
    character = _deceptive(command)
    if character:
        return Ask(f"the command contains the deceptive character U+{ord(character):04X}")
    try:
        return _fold(_findings(command, options))
    except RecursionError:
        return Ask("the command is nested too deeply to judge")
    except Exception as error:  # noqa: BLE001  # a guard that breaks must not open
        return Ask(f"the command could not be judged ({type(error).__name__}: {str(error)[:80]})")


def _deceptive(command: str) -> str:
    """Return a character that is not what it looks like; empty when there is none."""
    if command.isascii() and command.replace("\n", "").replace("\t", "").isprintable():
        return ""  # the usual command, which needs no pattern compiled
    found = _DECEPTIVE.search(command) or _INVISIBLE.search(command)
    return found.group() if found else ""


def _findings(command: str, options: ShellPolicyOptions) -> list[Finding]:
    engine = Engine(Rules(options.allow, options.ask, options.deny), max_depth=options.max_depth)
    engine.run(command)
    if options.second_opinion and not engine.findings:
        problem = disagreement(command, max_depth=options.max_depth)
        if problem:
            engine.ask(problem)
    return engine.findings


def _fold(findings: list[Finding]) -> Decision:
    """The strictest finding decides; its reasons are told, each once."""
    if not findings:
        return Allow()
    worst = max(finding.severity for finding in findings)
    reasons = list(dict.fromkeys(f.reason for f in findings if f.severity == worst))
    more = len(reasons) - MAX_REASONS
    reason = "; ".join(reasons[:MAX_REASONS]) + (f"; and {more} more" if more > 0 else "")
    return Deny(reason) if worst is Severity.DENY else Ask(reason)
