"""One configured hook: its kind, what that kind cannot do without, and its members (A.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import field, frozen

from dshhooks.bridge.dialects import TYPE_WORDS, UNSUPPORTED_TYPES, Rules, rules
from dshhooks.bridge.events import closest
from dshhooks.bridge.fields import Skipped, read_fields
from dshhooks.bridge.jsonfile import Report, described
from dshhooks.bridge.model import Source
from dshhooks.bridge.own import is_own_command
from dshhooks.bridge.placeholders import splits
from hookspecs.json import freeze

__all__ = ["Entries"]

_REQUIRED: Final = {"webhook": "url", "oracle": "prompt", "proxy": "prompt"}


@frozen
class Entries:
    """Reads the hooks of one file."""

    source: Source
    report: Report
    kinds: frozenset[str]
    variables: Mapping[str, str]
    rules: Rules = field(init=False)

    @rules.default
    def _rules(self) -> Rules:
        return rules(self.source.dialect, self.source.profile)

    def read(self, entry: Any, path: str, *, on_tools: bool) -> dict[str, Any] | None:
        """Return the attributes of a hook as written at ``path``, or ``None`` if it must not run."""
        if not isinstance(entry, dict):
            self.report.add("error", "hook-not-object", path, f"a hook must be an object, not {described(entry)}")
            return None
        kind = self._kind(entry.get("type", "command"), path)
        if kind is None:
            return None
        foreign = kind in self.kinds
        try:
            values = read_fields(entry, path, self.report, self.rules, on_tools=on_tools, open_ended=foreign)
        except Skipped:
            return None
        values["kind"] = kind
        if foreign:
            values["fields"] = freeze(entry)
        if any(map(is_own_command, (values.get("command"), *values.get("platform_commands", {}).values()))):
            self.report.add("info", "own-hook", path, "this hook is dshhooks itself: it is not run from here")
            return None
        return values if self._complete(kind, values, path) else None

    def _kind(self, word: Any, path: str) -> str | None:
        if isinstance(word, str):
            if word in TYPE_WORDS[self.source.dialect]:
                return TYPE_WORDS[self.source.dialect][word]
            if word in self.kinds:
                return word
            if word in UNSUPPORTED_TYPES[self.source.dialect]:
                text = f"hooks of type {word!r} are not run here: it is skipped"
                self.report.add(
                    "warning", "type-unsupported", f"{path}/type", text, "use a command that calls the tool"
                )
                return None
        self._unknown_type(word, f"{path}/type")
        return None

    def _unknown_type(self, word: Any, path: str) -> None:
        known = (*TYPE_WORDS[self.source.dialect], *sorted(self.kinds))
        near = closest(word, known) if isinstance(word, str) else None
        hint = f"did you mean {near!r}?" if near else f"known types: {', '.join(known)}"
        shown = repr(word)[:60] if isinstance(word, str) else described(word)
        self.report.add("error", "type-unknown", path, f"unknown type {shown}: the hook is skipped", hint)

    def _complete(self, kind: str, values: dict[str, Any], path: str) -> bool:
        """Say whether a hook has what its kind needs; a shell hook may have its commands by platform."""
        needed = _REQUIRED.get(kind, "")
        if "args" in values or (kind == "shell" and "platform_commands" not in values):
            needed = needed if needed and needed not in values else "command"
        if needed and needed not in values:
            self.report.add("error", "field-missing", path, f"{needed} is missing: the hook is skipped")
            return False
        if self.variables and "command" in values and "args" not in values:
            self._quoting(values["command"], path)
        return True

    def _quoting(self, command: str, path: str) -> None:
        token = splits(command, self.variables)
        if token is not None:
            text = f"the value of {token} has characters a shell takes apart"
            self.report.add("warning", "placeholder-unquoted", f"{path}/command", text, f'write "{token}" in quotes')
