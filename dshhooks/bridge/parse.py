"""From a document to groups of hooks: what is understood is kept, what is not is a diagnostic (A.2, A.3, A.9.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from dshhooks.bridge.advice import advise, rule_hint
from dshhooks.bridge.dialects import DIALECTS, ROOT_KEYS, UNSUPPORTED_EVENTS, Profile, Rules, rules
from dshhooks.bridge.entries import Entries
from dshhooks.bridge.events import EVENTS, TOOL_EVENTS, Event, closest
from dshhooks.bridge.jsonfile import Report, below, described
from dshhooks.bridge.matchers import MATCH_ALL, Matcher, MatcherError, compile_matcher
from dshhooks.bridge.model import Group, Hook, Source

__all__ = ["Parsed", "parse_document"]

_KNOWN: Final = frozenset({"matcher", "hooks", "description", "$comment", "_comment", "$schema", "name", "sequential"})
_FLAT: Final = frozenset({"command", "url", "bash", "powershell", "prompt"})
_SWITCH: Final = "disableAllHooks"
_NO_VALUES: Final[Mapping[str, str]] = MappingProxyType({})

# Every name of an event a file of a dialect may use: its own, and the canonical one.
_NAMES: Final[Mapping[str, Mapping[str, Event]]] = {
    dialect: {name: event for event in EVENTS.values() for name in (*event.spellings[dialect], event.name)}
    for dialect in DIALECTS
}
# Files of these dialects hold nothing but hooks; the others are settings, which need not have any.
_ONLY_HOOKS: Final = frozenset({"codex", "native"})


@frozen
class Parsed:
    """What a document says; ``disable`` is its ``disableAllHooks``, ``None`` when it does not mention it."""

    groups: tuple[Group, ...] = ()
    disable: bool | None = None
    loaded: bool = True


def parse_document(
    data: Any,
    source: Source,
    report: Report,
    *,
    name: str,
    lenient: bool = False,
    matcher_profile: Profile | None = None,
    kinds: Collection[str] = (),
    variables: Mapping[str, str] = _NO_VALUES,
) -> Parsed:
    """Read a hook file's document.

    Args:
        data: The JSON.
        source: Where it came from, and its dialect and profile.
        report: Takes the diagnostics.
        name: Short name of the file, for the ids of its hooks.
        lenient: Take hooks directly under an event for a group of their own.
        matcher_profile: Read matchers in this profile; ``None``: the source's.
        kinds: Types that plugins registered.
        variables: Values of placeholders, to warn of those a shell would take apart.
    """
    how = rules(source.dialect, matcher_profile or source.profile)
    entries = Entries(source, report, frozenset(kinds), variables)
    return _Parser(source, report, f"{source.dialect}:{source.scope}:{name}", lenient, how, entries).document(data)


@frozen
class _Parser:
    source: Source
    report: Report
    name: str
    lenient: bool
    matchers: Rules
    entries: Entries
    events: Mapping[str, Event] = field(init=False)

    @events.default
    def _events(self) -> Mapping[str, Event]:
        return _NAMES[self.source.dialect]

    def document(self, data: Any) -> Parsed:
        if not isinstance(data, dict):
            self.report.add("error", "root-not-object", "", f"the document must be an object, not {described(data)}")
            return Parsed(loaded=False)
        disable = self._switch(data)
        root = self._root(data)
        if root is None:
            return Parsed(disable=disable, loaded=False)
        path, events = root
        groups = tuple(group for spelling, value in events.items() for group in self._event(spelling, value, path))
        return Parsed(groups, disable)

    def _switch(self, data: dict[str, Any]) -> bool | None:
        value = data.get(_SWITCH)
        if value is None or isinstance(value, bool):
            return value
        self.report.add("error", "field-invalid", f"/{_SWITCH}", f"{_SWITCH} must be true or false: it is ignored")
        return None

    def _root(self, data: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Find the events: under the root key, or, in a file of nothing but hooks, at the top."""
        key = ROOT_KEYS[self.source.dialect]
        if key not in data:
            return self._bare(data, key)
        events = data[key]
        if not isinstance(events, dict):
            self.report.add(
                "error", "root-key-not-object", f"/{key}", f"{key} must be an object, not {described(events)}"
            )
            return None
        if self.source.dialect == "native":
            self._version(data)
        return f"/{key}", events

    def _bare(self, data: dict[str, Any], key: str) -> tuple[str, dict[str, Any]] | None:
        only_hooks = self.source.dialect in _ONLY_HOOKS or _base_name(self.source.file) == "hooks.json"
        known = self.events.keys() | UNSUPPORTED_EVENTS[self.source.dialect]
        if only_hooks and data and data.keys() <= known:
            self.report.add("info", "bare-event-map", "", f"the events stand at the top of the file, without {key!r}")
            return "", data
        if not only_hooks:
            self.report.add("info", "root-key-missing", "", f"there is no {key!r}: the file has no hooks")
            return "", {}
        hint = f'write {{"{key}": {{...}}}}'
        self.report.add("error", "root-key-missing", "", f"there is no {key!r}: the file has no hooks", hint)
        return None

    def _version(self, data: dict[str, Any]) -> None:
        version = data.get("version")
        if "version" not in data:
            self.report.add("warning", "version-missing", "", "there is no version", 'write "version": 1')
        elif version != 1 or isinstance(version, bool):
            self.report.add("error", "version-unsupported", "/version", f"version must be 1, not {described(version)}")

    def _event(self, spelling: str, value: Any, root: str) -> Iterator[Group]:
        path = below(root, spelling)
        event = self.events.get(spelling)
        if event is None:
            self._unknown_event(spelling, value, path)
        elif not isinstance(value, list):
            hint = "put the group into a list: [...]" if isinstance(value, dict) else None
            text = f"{spelling} must be a list of groups, not {described(value)}"
            self.report.add("error", "event-not-list", path, text, hint)
        else:
            for index, item in enumerate(value):
                group = self._group(event, spelling, item, f"{path}/{index}", index)
                if group is not None:
                    yield group

    def _unknown_event(self, spelling: str, value: Any, path: str) -> None:
        dialect = self.source.dialect
        if spelling in UNSUPPORTED_EVENTS[dialect]:
            self.report.add("info", "event-unsupported", path, f"{spelling} is known and not run here")
            return
        near = closest(spelling, self.events)
        hint = f"did you mean {near!r}?" if near else None
        other = next((other for other in DIALECTS if other != dialect and spelling in _NAMES[other]), None)
        if other is not None:
            own = _NAMES[other][spelling].spellings[dialect]
            hint = f"that is {other}'s name" + (f": write {own[0]!r}" if own else "")
        elif near is None and isinstance(value, list) and any(map(_is_flat, value)):
            hint = "this may be another program's file: see dshhooks bridge import"
        self.report.add("warning", "event-unknown", path, f"unknown event {spelling!r}", hint)

    def _group(self, event: Event, spelling: str, item: Any, path: str, index: int) -> Group | None:
        if not isinstance(item, dict):
            self.report.add("error", "group-not-object", path, f"a group must be an object, not {described(item)}")
            return None
        flat = _is_flat(item)
        if flat and not self._takes_flat(path):
            return None
        try:
            pattern, test = self._matcher(event, item.get("matcher"), f"{path}/matcher")
        except MatcherError as exc:
            self.report.add(
                "error", exc.code, f"{path}/matcher", f"{exc}: the group is dropped", rule_hint(item["matcher"])
            )
            return None
        if flat:
            entry = {name: value for name, value in item.items() if name != "matcher"}
            return self._made(event, spelling, pattern, test, [(path, entry)], path, index)
        if not _KNOWN.issuperset(item):
            self._unknown_fields(item, path)
        entries = item.get("hooks")
        if not isinstance(entries, list) or not entries:
            self._no_hooks(item, path)
            return None
        placed = [(f"{path}/hooks/{number}", entry) for number, entry in enumerate(entries)]
        return self._made(event, spelling, pattern, test, placed, path, index)

    def _unknown_fields(self, item: dict[str, Any], path: str) -> None:
        for name in item:
            if name not in _KNOWN:
                self.report.add("info", "field-unknown", below(path, name), f"unknown field {name!r} is ignored")

    def _takes_flat(self, path: str) -> bool:
        if self.lenient:
            self.report.add("info", "flat-hook", path, "a hook stands directly under the event: it is its own group")
        else:
            hint = 'wrap it: {"hooks": [...]}, or use --lenient'
            self.report.add("warning", "flat-hook", path, "a hook stands directly under the event: it is not run", hint)
        return self.lenient

    def _no_hooks(self, item: dict[str, Any], path: str) -> None:
        entries = item.get("hooks")
        what = "is empty" if entries == [] else f"is {described(entries)}" if "hooks" in item else "is missing"
        where = f"{path}/hooks" if "hooks" in item else path
        self.report.add(
            "error", "hooks-missing", where, f"hooks must be a list of hooks and {what}: the group is dropped"
        )

    def _matcher(self, event: Event, pattern: Any, path: str) -> tuple[str | None, Matcher]:
        if pattern is None:
            return None, MATCH_ALL
        if not isinstance(pattern, str):
            raise MatcherError("matcher-not-text", f"matcher must be a text, not {described(pattern)}")
        if not event.subject:
            if pattern not in ("", "*"):
                text = f"{event.name} has nothing to compare a matcher with: the group always runs"
                self.report.add("warning", "matcher-ignored", path, text)
            return None, MATCH_ALL
        test = compile_matcher(pattern, self.matchers)
        if test.kind != "all":
            advise(
                pattern, test, self.source.dialect, self.matchers, path, self.report, on_tools=event.name in TOOL_EVENTS
            )
        return pattern, test

    def _made(self, event: Event, spelling: str, pattern: str | None, test: Matcher, entries: list[tuple[str, Any]],
              path: str, index: int) -> Group | None:  # fmt: skip
        hooks: list[Hook] = []
        for number, (where, entry) in enumerate(entries):
            values = self.entries.read(entry, where, on_tools=event.name in TOOL_EVENTS)
            if values is not None:
                hooks.append(Hook(id=f"{self.name}:{spelling}:{index}:{number}", source=self.source,
                                  canonical=event.name, spelling=spelling, matcher=pattern, path=where,
                                  **values))  # fmt: skip
        return Group(event.name, spelling, self.source, tuple(hooks), test, pattern, path) if hooks else None


def _base_name(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]


def _is_flat(item: Any) -> bool:
    """Say whether an entry is a hook where a group should be."""
    return isinstance(item, dict) and "hooks" not in item and not _FLAT.isdisjoint(item)
