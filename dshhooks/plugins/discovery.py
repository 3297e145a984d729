"""Which plugins are installed: entry points of the group ``dshhooks``, none of them imported."""

from __future__ import annotations

from collections import defaultdict
from importlib.metadata import EntryPoint, entry_points

from attrs import frozen

__all__ = ["GROUP", "Found", "discover"]

GROUP = "dshhooks"


@frozen
class Found:
    """An installed plugin, not yet imported.

    Args:
        name: The entry-point name.
        entry_point: What loads it.
        distribution: Who publishes it.
        version: The distribution's version.
        rivals: Every distribution that claims the name, when several do; none of them is loaded then.
    """

    name: str
    entry_point: EntryPoint
    distribution: str
    version: str
    rivals: tuple[str, ...] = ()


def discover() -> dict[str, Found]:
    """Return the installed plugins by name, sorted by name."""
    claims: dict[str, list[EntryPoint]] = defaultdict(list)
    for entry_point in entry_points(group=GROUP):
        claims[entry_point.name].append(entry_point)
    return {name: _found(name, claims[name]) for name in sorted(claims)}


def _found(name: str, claims: list[EntryPoint]) -> Found:
    owners = {(_distribution(claim), claim.value): claim for claim in claims}
    rivals = tuple(sorted(owner for owner, _ in owners)) if len(owners) > 1 else ()
    first = claims[0]
    version = first.dist.version if first.dist is not None else ""
    return Found(name, first, _distribution(first), version, rivals)


def _distribution(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else "unknown distribution"
