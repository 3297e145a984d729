"""What a session was started under, and its fingerprint (spec/operations.md 1.17)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from attrs import field, frozen

from dshhooks.operations.declare import check_revision
from hookspecs.errors import OperationConfigError

__all__ = ["MANIFEST_SCHEMA", "Manifest", "validate_manifest"]

MANIFEST_SCHEMA: Final = 2
_FIRST_WITH_POLICY: Final = 2


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


@frozen
class Manifest:
    """What governs a session. Observers are no part of it, nor are callbacks or their names (R1).

    Args:
        agent: The agent's type, or empty.
        model: Provider and model, ``"provider/model"``, or empty.
        tools: Names of the tools it may see, in any order.
        plugins: Names of the plugins that take part, in any order.
        hook_policy_rev: The composed policy revision of the operation guards; empty without guards.
        schema: Version of the fingerprint; 1 is older than the policy revision and does not cover it.
    """

    agent: str = ""
    model: str = ""
    tools: tuple[str, ...] = field(default=(), converter=_names)
    plugins: tuple[str, ...] = field(default=(), converter=_names)
    hook_policy_rev: str = ""
    schema: int = MANIFEST_SCHEMA

    def fingerprint(self) -> str:
        """Return SHA-256 of the canonical form, in hex: equal exactly for equal manifests of one schema (R2).

        The form is the domain with the schema, then each field in a fixed order: a text after its length in bytes, a
        collection after its count; lengths and counts are eight bytes, big-endian.
        """
        digest = hashlib.sha256(_text(f"dshhooks.manifest.v{self.schema}"))
        for part in (self.agent, self.model):
            digest.update(_text(part))
        for names in (self.tools, self.plugins):
            digest.update(len(names).to_bytes(8, "big") + b"".join(map(_text, names)))
        if self.schema >= _FIRST_WITH_POLICY:
            digest.update(_text(self.hook_policy_rev))
        return digest.hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return it as a session's start records it; an empty revision is left out."""
        data: dict[str, Any] = {"schema": self.schema, "agent": self.agent, "model": self.model}
        data |= {"tools": list(self.tools), "plugins": list(self.plugins)}
        return {**data, "hook_policy_rev": self.hook_policy_rev} if self.hook_policy_rev else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Manifest:
        """Return the manifest a session recorded; unknown keys are left alone.

        Raises:
            OperationConfigError: ``invalid_manifest``.
        """
        found = {name: data[name] for name in _TYPES if name in data}
        _check_types(found)
        manifest = cls(**{"schema": 1, **found})
        validate_manifest(manifest)
        return manifest


_TEXT: Final = (str,)
_LIST: Final[tuple[type, ...]] = tuple(
    {list, tuple, *(kind for kind in list.__subclasses__() if kind.__module__ == "hookspecs.json")}
)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "agent": _TEXT, "model": _TEXT, "tools": _LIST, "plugins": _LIST, "hook_policy_rev": _TEXT, "schema": (int,),
}  # fmt: skip


def validate_manifest(manifest: Manifest) -> None:
    """Refuse a manifest whose fingerprint would not cover all it says.

    Raises:
        OperationConfigError: ``invalid_manifest``, or what is wrong with the revision.
    """
    made = {name: getattr(manifest, name) for name in _TYPES}
    # A revision of another type has an error of its own.
    _check_types({name: value for name, value in made.items() if name != "hook_policy_rev"})
    if not 1 <= manifest.schema <= MANIFEST_SCHEMA:
        raise _invalid("schema", f"version {manifest.schema} is not known here; 1 to {MANIFEST_SCHEMA} are")
    if manifest.hook_policy_rev != "":
        if manifest.schema < _FIRST_WITH_POLICY:
            raise _invalid("hook_policy_rev", f"schema {manifest.schema} has none; its fingerprint would not cover it")
        check_revision(manifest.hook_policy_rev)


def _check_types(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if type(value) not in _TYPES[name]:
            raise _invalid(name, f"it cannot be {type(value).__name__}")
        if _TYPES[name] is _LIST and not all(isinstance(each, str) for each in value):
            raise _invalid(name, "its members must be strings")


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data


def _invalid(name: str, why: str) -> OperationConfigError:
    return OperationConfigError(f"manifest: {name}: {why}", "invalid_manifest", field=name)
