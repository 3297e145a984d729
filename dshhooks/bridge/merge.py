"""All hook files become one configuration (spec/external-hooks.md A.9)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, MutableMapping
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from dshhooks.bridge.dialects import profile_of
from dshhooks.bridge.discovery import Candidate, candidates, guess_dialect
from dshhooks.bridge.jsonfile import Document, Report, read_document
from dshhooks.bridge.model import Configuration, Diagnostic, Group, Source
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.parse import Parsed, parse_document

__all__ = ["Trusted", "load", "unusable"]

Trusted = Callable[[Source], bool]

# Files of these scopes come with a checkout: somebody must have agreed to run what they name.
_OF_A_CHECKOUT: Final = frozenset({"project", "local"})


def load(
    options: BridgeOptions,
    *,
    trusted: Trusted | None = None,
    kinds: Collection[str] = (),
    environ: Mapping[str, str] | None = None,
    pipes: MutableMapping[str, bytes] | None = None,
) -> Configuration:
    """Read every hook file and return what they say together; broken files are diagnostics, never exceptions.

    Args:
        options: Where to look and how to read. ``options.trust`` stands above ``trusted``.
        trusted: Asked for each file of a checkout that has hooks; without anybody to ask they are not trusted.
        kinds: Types of hooks that plugins registered.
        environ: The environment, for a pinned file and the home directory; ``None``: the process's.
        pipes: What a pinned pipe said the last time; filled here. ``None``: nobody will read it again.
    """
    general = Report("")
    ask = options.trust or trusted
    kept = {} if pipes is None else pipes
    read = [_read(candidate, options, ask, kinds, kept) for candidate in candidates(options, general, environ)]
    files = [file for file in read if file is not None]
    diagnostics = [*general.diagnostics, *(note for file in files for note in file.diagnostics)]
    configured = [group for file in files for group in file.parsed.groups]
    enabled = _enabled(files)
    return Configuration(
        groups=[group for group in configured if enabled and group.source.trusted],
        sources=[file.source for file in files],
        diagnostics=diagnostics,
        enabled=enabled,
        configured=configured,
    )


def unusable(configuration: Configuration) -> Source | None:
    """Return the file somebody named, if it could not be used; discovered ones are nobody's word."""
    broken = (source for source in configuration.sources if source.scope == "pinned" and not source.loaded)
    return next(broken, None)


@frozen
class _File:
    source: Source
    parsed: Parsed
    diagnostics: list[Diagnostic]


def _read(candidate: Candidate, options: BridgeOptions, ask: Trusted | None, kinds: Collection[str],
          pipes: MutableMapping[str, bytes]) -> _File | None:  # fmt: skip
    report = Report(str(candidate.path))
    document = read_document(candidate.path, report, pipes=pipes if candidate.scope == "pinned" else None)
    if document is None:
        if candidate.scope != "pinned":
            return None
        report.add("error", "file-missing", "", "does not exist", "correct --config or the variable that names it")
        document = Document(None, "", False)
    source = _source(candidate, document, options)
    if not document.valid:
        return _File(evolve(source, loaded=False), Parsed(loaded=False), report.diagnostics)
    parsed = _parse(document, source, candidate, options, kinds, report)
    final = evolve(source, loaded=parsed.loaded, trusted=_trusts(source, parsed, ask, report))
    return _File(final, parsed if final == source else _of(final, parsed), report.diagnostics)


def _source(candidate: Candidate, document: Document, options: BridgeOptions) -> Source:
    dialect = candidate.dialect or guess_dialect(candidate.path, document.data)
    profile = profile_of(dialect, options.profile)
    return Source(str(candidate.path), dialect, profile, candidate.scope, document.digest)


def _parse(document: Document, source: Source, candidate: Candidate, options: BridgeOptions, kinds: Collection[str],
           report: Report) -> Parsed:  # fmt: skip
    return parse_document(
        document.data,
        source,
        report,
        name=candidate.name,
        lenient=options.lenient,
        matcher_profile=options.matcher_profile,
        kinds=kinds,
        variables=_variables(options),
    )


def _variables(options: BridgeOptions) -> dict[str, str]:
    values: dict[str, Path | None] = {
        "CLAUDE_PROJECT_DIR": options.project_dir, "CLAUDE_PLUGIN_ROOT": options.plugin_root,
        "CLAUDE_PLUGIN_DATA": options.plugin_data, "PLUGIN_ROOT": options.plugin_root,
        "PLUGIN_DATA": options.plugin_data,
    }  # fmt: skip
    return {name: str(value) for name, value in values.items() if value is not None}


def _trusts(source: Source, parsed: Parsed, ask: Trusted | None, report: Report) -> bool:
    """Ask about a file that could do something; one without hooks and switches needs no trust."""
    if source.scope not in _OF_A_CHECKOUT or (not parsed.groups and parsed.disable is None):
        return True
    if ask is not None and ask(source):
        return True
    report.add("warning", "file-untrusted", "", "comes with the project and nobody has agreed to it: it is not run",
               f"read it, then: dshhooks bridge trust {source.file}")  # fmt: skip
    return False


def _of(source: Source, parsed: Parsed) -> Parsed:
    """Tell groups and hooks what became of their source after they were made."""
    groups: list[Group] = []
    for group in parsed.groups:
        hooks = tuple(evolve(hook, source=source) for hook in group.hooks)
        groups.append(evolve(group, source=source, hooks=hooks))
    return evolve(parsed, groups=tuple(groups))


def _enabled(files: list[_File]) -> bool:
    """The most specific file that mentions the switch decides, if it is trusted."""
    mentions = [file.parsed.disable for file in files if file.source.trusted and file.parsed.disable is not None]
    return not mentions[-1] if mentions else True
