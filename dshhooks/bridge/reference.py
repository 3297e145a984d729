"""The page on dialects, made from the tables the code runs on.

``python -m dshhooks.pages --write`` makes it, ``--check`` says whether it is current.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from dshhooks.bridge.dialects import (
    DEFAULT_TIMEOUTS,
    DEVIATIONS,
    DIALECTS,
    EXTRA_MEMBERS,
    LAYOUT,
    PROFILES,
    ROOT_KEYS,
    TYPE_WORDS,
    UNSUPPORTED_EVENTS,
    UNSUPPORTED_TYPES,
    Dialect,
    Profile,
    Rules,
    profile_of,
    rules,
    switches,
)
from dshhooks.bridge.events import EVENTS

__all__ = ["render"]


_HEAD: Final = """\
# Dialects of external hooks

<!-- Made by `python -m dshhooks.pages --write` from its tables. Edit dialects.py, not this page. -->

A *dialect* is whose format a hook file is in. A *profile* says how literally it is read: `seed` is the first contract
to the letter, `current` is what today's products were seen to do. Files are read in `current`; `native` files have one
reading only. Choose with `profile` and `matcher_profile` of `BridgeOptions`.
"""


def render() -> str:
    """Return the page."""
    sections = (
        ("Events", _events()),
        ("Known and not run", _unsupported()),
        ("Differences", _differences()),
        ("Where products differ from this page", _deviations()),
        ("Types of hooks", _types()),
        ("Members of a payload", _members()),
        ("Places", _places()),
    )
    return _HEAD + "".join("\n".join(["", f"## {title}", "", *lines, ""]) for title, lines in sections)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    for row in rows:
        yield _row([cell or "–" for cell in row])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _events() -> Iterator[str]:
    yield "Every name below is accepted wherever an event is named. A matcher on an event without a subject is dropped."
    yield "Of two names of one dialect a dispatch reaches only the one it used; the canonical name reaches both."
    yield ""
    head = ("canonical", "a deny counts", "stdout is context", "matcher is compared with", *DIALECTS[:-1])
    yield from _table(head, (
        (f"`{event.name}`", _yes(event.blockable), _yes(event.context_stdout), _code(event.subject),
         *(_code(event.spellings[dialect]) for dialect in DIALECTS[:-1]))
        for event in EVENTS.values()
    ))  # fmt: skip


def _unsupported() -> Iterator[str]:
    yield from _table(("dialect", "events", "types"), (
        (dialect, _code(sorted(UNSUPPORTED_EVENTS[dialect])), _code(sorted(UNSUPPORTED_TYPES[dialect])))
        for dialect in DIALECTS if UNSUPPORTED_EVENTS[dialect] or UNSUPPORTED_TYPES[dialect]
    ))  # fmt: skip


def _columns() -> list[tuple[Dialect, Profile]]:
    return [
        (dialect, profile) for dialect in DIALECTS for profile in PROFILES if profile_of(dialect, profile) == profile
    ]


def _differences() -> Iterator[str]:
    columns = _columns()
    head = ("", *(dialect if dialect == "native" else f"{dialect}, {profile}" for dialect, profile in columns))
    yield from _table(head, (
        (switch.metadata["topic"], *(_cell(rules(*column), switch) for column in columns)) for switch in switches()
    ))  # fmt: skip


def _cell(how: Rules, switch: Any) -> str:
    value = getattr(how, switch.name)
    meanings = switch.metadata["meanings"]
    if str(value).lower() in meanings:
        return str(meanings[str(value).lower()])
    if switch.name == "exact_characters":
        return _pattern(value)
    if switch.name == "separators":
        return " and ".join(f"`{_escaped(character)}`" for character in value)
    return "`null`" if value is None else f'`"{value}"`'


def _pattern(characters: str | None) -> str:
    if characters is None:
        return "list of names"
    if not characters:
        return "regular expression"
    letters = "letters, digits and " if r"\w" in characters else ""
    shown = _escaped(characters.replace(r"\w", "_").replace("\\", ""))
    return f"list of names if it has only {letters}`{shown}`, else regular expression"


def _escaped(text: str) -> str:
    """Text for a cell of a table, which a bar would end."""
    return text.replace("|", "\\|")


def _deviations() -> Iterator[str]:
    yield from _table(("", "products", "here"), ((row.topic, row.products, row.here) for row in DEVIATIONS))


def _types() -> Iterator[str]:
    words = dict.fromkeys(word for dialect in DIALECTS for word in TYPE_WORDS[dialect])
    head = ("`type`", *DIALECTS)
    yield from _table(
        head, ((f"`{word}`", *(TYPE_WORDS[dialect].get(word, "") for dialect in DIALECTS)) for word in words)
    )
    yield ""
    seconds = ", ".join(f"{kind} {limit:g} s" for kind, limit in DEFAULT_TIMEOUTS.items())
    yield f"Without `type` a hook is a `command`. Without `timeout` it may take: {seconds}."


def _members() -> Iterator[str]:
    yield "Besides the common ones (`session_id`, `transcript_path`, `cwd`, `hook_event_name`, `permission_mode`):"
    yield ""
    yield from _table(("event", "members"), ((f"`{event.name}`", _code(event.members)) for event in EVENTS.values()))
    yield ""
    for (dialect, profile), members in EXTRA_MEMBERS.items():
        shown = ", ".join(f"`{name}` ({', '.join(sorted(events)) if events else 'always'})"
                          for name, (_, events) in members.items())  # fmt: skip
        yield f"In {dialect}, {profile}, also: {shown}."


def _places() -> Iterator[str]:
    yield "Later files are more specific. Those of a project do not run before somebody has trusted them."
    yield ""
    yield from _table(("scope", "dialect", "file", "events under"), (
        (place.scope, place.dialect, f"`{'~/' if place.scope == 'user' else ''}{place.path}`",
         f"`{ROOT_KEYS[place.dialect]}`")
        for place in LAYOUT
    ))  # fmt: skip
