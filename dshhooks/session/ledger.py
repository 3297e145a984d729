"""What a store keeps of a session beside its log: how often it was opened, and what it was accepted under.

This is the session's lease record (decisions.md 5.4): its epoch counts the openings, each one a fence. The log itself
holds nothing of it, so that a log means the same with and without (spec/operations.md R1, R4).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from dshhooks.session.text import dumps, loads
from hookspecs.errors import HarnessError

if TYPE_CHECKING:
    from dshhooks.operations.manifest import Manifest

__all__ = ["Entry", "Ledger", "ledger_from_text", "ledger_to_text"]


@frozen
class Entry:
    """A manifest, and when somebody decided about it.

    Args:
        epoch: In which opening.
        time: Epoch milliseconds.
        manifest: What the session was to go on under.
    """

    epoch: int
    time: int
    manifest: Manifest


@frozen
class Ledger:
    """The openings of one session.

    Args:
        epoch: How many there were; the last one's number. A session that is stored was opened at least once.
        adopted: What it was started and accepted under, oldest first; the last one is what the next opening is held to.
        refused: What it was last refused to go on under, until it is accepted again.
    """

    epoch: int = 1
    adopted: tuple[Entry, ...] = ()
    refused: Entry | None = None

    @property
    def baseline(self) -> Manifest | None:
        """What the session was last accepted under; ``None`` for one that is older than manifests."""
        return self.adopted[-1].manifest if self.adopted else None

    def opened(self) -> Ledger:
        """Return it with one more opening."""
        return evolve(self, epoch=self.epoch + 1)

    def adopt(self, manifest: Manifest, time: int) -> Ledger:
        """Return it with another baseline."""
        return evolve(self, adopted=(*self.adopted, Entry(self.epoch, time, manifest)), refused=None)

    def refuse(self, manifest: Manifest, time: int) -> Ledger:
        """Return it with a refusal; the baseline stays."""
        return evolve(self, refused=Entry(self.epoch, time, manifest))


def ledger_to_text(ledger: Ledger) -> str:
    """Return the one line a store keeps."""
    data: dict[str, Any] = {"type": "ledger", "epoch": ledger.epoch, "adopted": [_wire(e) for e in ledger.adopted]}
    return dumps(data if ledger.refused is None else {**data, "refused": _wire(ledger.refused)})


def ledger_from_text(text: str, where: str) -> Ledger:
    """Return what a store kept; unknown keys are left alone.

    Args:
        text: The line.
        where: What it stands in, for the message.

    Raises:
        HarnessError: ``SESSION_CORRUPT``: nothing is guessed about what a session was accepted under.
    """
    try:
        return _ledger(loads(text))
    except (ValueError, TypeError, KeyError) as exc:
        raise HarnessError(
            f"{where}: the record of the session's openings cannot be read ({exc}); restore it, or continue in a fork",
            "SESSION_CORRUPT",
        ) from exc


def _wire(entry: Entry) -> dict[str, Any]:
    manifest = entry.manifest
    return {
        "epoch": entry.epoch,
        "time": entry.time,
        "fingerprint": manifest.fingerprint(),
        "manifest": manifest.to_json(),
    }


def _ledger(data: Mapping[str, Any]) -> Ledger:
    adopted = tuple(_entry(entry) for entry in data["adopted"])
    refused = data.get("refused")
    ledger = Ledger(_number(data["epoch"], 1), adopted, None if refused is None else _entry(refused))
    entries = (*adopted, *(() if ledger.refused is None else (ledger.refused,)))
    if any(entry.epoch > ledger.epoch for entry in entries):
        raise ValueError("it decides about an opening that has not been")
    return ledger


def _entry(data: Mapping[str, Any]) -> Entry:
    from dshhooks.operations.manifest import Manifest

    manifest = Manifest.from_json(data["manifest"])
    if manifest.fingerprint() != data["fingerprint"]:
        raise ValueError("a manifest has another fingerprint than was recorded")
    return Entry(_number(data["epoch"], 1), _number(data["time"], 0), manifest)


def _number(value: Any, least: int) -> int:
    if type(value) is not int or value < least:
        raise ValueError(f"{value!r} is no number from {least} up")
    return value
