"""Several providers of guards and observers, one set (spec/operations.md §2, decisions.md 5.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from dshhooks.operations.declare import Around, Guard, OperationSet, check_revision, validate_set

__all__ = ["Provider", "compose", "compose_revisions"]

_DOMAIN: Final = b"dshhooks.operations.policy.v1"


@frozen
class Provider:
    """Somebody who brings a set, for example a plugin.

    Args:
        name: Who; part of the composed revision.
        declared: Their guards, observers and policy revision.
    """

    name: str
    declared: OperationSet


def compose(providers: Sequence[Provider]) -> OperationSet:
    """Return one set that asks the providers' guards and observers in the order given.

    Raises:
        OperationConfigError: A provider's set is malformed; a note names the provider.
    """
    guards: list[Guard] = []
    around: list[Around] = []
    for provider in providers:
        try:
            validate_set(provider.declared)
        except ValueError as exc:
            exc.add_note(f"in the operations of {provider.name!r}")
            raise
        guards.extend(provider.declared.guards)
        around.extend(provider.declared.around)
    with_guards = [(each.name, each.declared.policy_revision) for each in providers if each.declared.guards]
    return OperationSet(compose_revisions(with_guards), guards, around)


def compose_revisions(pairs: Sequence[tuple[str, str]]) -> str:
    """Return the revision of several providers' guards together.

    None of them: empty. One: its own, verbatim. Several: a digest over the ordered pairs, each part after its length,
    so that no two lists of pairs have the same bytes.

    Args:
        pairs: Provider and revision, in the order the guards are asked.

    Raises:
        OperationConfigError: A revision is missing or malformed.
    """
    for _, revision in pairs:
        check_revision(revision)
    if len(pairs) < 2:
        return pairs[0][1] if pairs else ""
    digest = hashlib.sha256(_DOMAIN)
    for pair in pairs:
        for part in pair:
            # Names come from anywhere; a lone surrogate in one must not stop a session from starting.
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return f"sha256:{digest.hexdigest()}"
