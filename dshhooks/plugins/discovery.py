"""Which plugins are installed: entry points of the group ``dshhooks``, none of them imported."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint, distributions, entry_points
from typing import Any

from attrs import frozen

__all__ = ["GROUP", "Found", "discover"]

GROUP = "dshhooks"

log = logging.getLogger("dshhooks.plugins")


@frozen
class Found:
    """An installed plugin, not yet imported.

    Args:
        name: The entry-point name.
        entry_point: What loads it.
        distribution: Who publishes it.
        version: The distribution's version; empty when its metadata has none.
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
    for entry_point in _installed():
        claims[entry_point.name].append(entry_point)
    return {name: _found(name, claims[name]) for name in sorted(claims)}


def _installed() -> Iterable[EntryPoint]:
    try:
        return entry_points(group=GROUP)
    except Exception:  # noqa: BLE001 - one broken file of one distribution hides everybody's entry points: look at each
        return _one_by_one()


def _one_by_one() -> Iterator[EntryPoint]:
    seen = set()
    for distribution in distributions():
        try:
            name, claims = distribution.name, list(distribution.entry_points.select(group=GROUP))
        except Exception as exc:  # noqa: BLE001 - whatever is wrong with it, the others count
            log.warning(
                "a distribution cannot be read and its plugins do not count: %s (%s)", _place(distribution), exc
            )
            continue
        if name not in seen:  # the first one on sys.path is the one that would be imported
            seen.add(name)
            yield from claims


def _place(distribution: object) -> str:
    return str(getattr(distribution, "_path", None) or distribution)


def _found(name: str, claims: list[EntryPoint]) -> Found:
    owners = {(_publisher(claim)[0], claim.value) for claim in claims}
    rivals = tuple(sorted(owner for owner, _ in owners)) if len(owners) > 1 else ()
    return Found(name, claims[0], *_publisher(claims[0]), rivals)


def _publisher(entry_point: EntryPoint) -> tuple[str, str]:
    """Return name and version of the distribution, whatever its metadata lacks."""
    try:
        metadata: Any = entry_point.dist.metadata  # type: ignore[union-attr]  # no distribution is caught below
        name, version = metadata.get("Name"), metadata.get("Version")
    except Exception:  # noqa: BLE001 - a distribution without metadata still publishes
        name = version = None
    return name or "a distribution without a name", version or ""
