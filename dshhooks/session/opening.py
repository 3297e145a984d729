"""Opening a session: claim it, put up the fence, agree on what it goes on under (spec/operations.md 1.15, 1.17)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
from attrs import frozen

from dshhooks.engine.observe import described
from dshhooks.session.ledger import Ledger
from dshhooks.session.log import Session, now_ms
from dshhooks.session.operations import Journal
from dshhooks.session.store import SessionStore
from hookspecs.errors import HarnessError

if TYPE_CHECKING:
    from dshhooks.operations.drift import Decider
    from dshhooks.operations.manifest import Manifest

__all__ = ["Opener", "Terms"]

log = logging.getLogger("dshhooks.session")


@frozen
class Terms:
    """What a session is opened under, and who decides if that is not what it was last accepted under.

    Args:
        manifest: What governs it from now on.
        allow_policy_drift: Another policy revision is accepted.
        decider: Gets the whole assessment and answers ``True`` to go on; instead of the default rule.
    """

    manifest: Manifest
    allow_policy_drift: bool = False
    decider: Decider | None = None


class Opener:
    """Opens the sessions of one host.

    Args:
        store: Where they are kept.
        journal: Shows the writes to those who observe appends.
    """

    def __init__(self, store: SessionStore, journal: Journal) -> None:
        self._store, self._journal = store, journal

    async def open(self, session: Session, stored: int | None, terms: Terms | None = None) -> None:
        """Claim a session for this host; when this raises, nothing stays claimed.

        Args:
            session: A private one, which is bound to nothing yet.
            stored: How many of its events the store has; ``None`` for a new one.
            terms: What it is opened under; without any, nothing is recorded or compared.

        Raises:
            HarnessError: ``SESSION_LOCKED``, ``SESSION_ALREADY_EXISTS``, ``SESSION_CHANGED``, ``SESSION_CORRUPT``.
            DriftRejectedError: It does not go on under these terms, which is recorded.
        """
        claim = _Claim(self._store, session, stored)
        try:
            ledger = await self._fenced(session, claim)
            if terms is not None:
                await self._agree(session, ledger, terms)
                session.manifest = terms.manifest
        except BaseException:
            if claim.held:
                with anyio.CancelScope(shield=True):
                    await self._store.release(session.id)
            raise

    async def _fenced(self, session: Session, claim: _Claim) -> Ledger:
        epoch = await claim.next_epoch()
        middleware = self._journal.fencing(session, epoch)
        if middleware is None:
            return await claim.take()
        from dshhooks.operations.fence import delegated_once

        return await delegated_once(middleware, claim.take)

    async def _agree(self, session: Session, ledger: Ledger, terms: Terms) -> None:
        if ledger.epoch == 1:
            # Part of the session's start: stored with its first events, and no record of its own.
            await self._store.record(session.id, ledger.adopt(terms.manifest, now_ms()))
        elif await self._accepted(session, ledger, terms):
            await self._decided(session, "adopted", ledger.adopt(terms.manifest, now_ms()))

    async def _accepted(self, session: Session, ledger: Ledger, terms: Terms) -> bool:
        from dshhooks.operations.drift import assess_drift, decide
        from dshhooks.operations.errors import DriftRejectedError

        assessment = assess_drift(ledger.baseline, terms.manifest)
        try:
            return decide(assessment, allow_policy_drift=terms.allow_policy_drift, decider=terms.decider)
        except DriftRejectedError:
            try:
                await self._decided(session, "restore-failed", ledger.refuse(terms.manifest, now_ms()))
            except Exception as exc:  # noqa: BLE001 - the rejection is what matters, and it stands
                log.error("session %r: its rejection could not be recorded: %s", session.id, described(exc))
            raise

    async def _decided(self, session: Session, what: str, ledger: Ledger) -> None:
        await self._journal.decided(session, f"{what}:{ledger.epoch}", lambda: self._store.record(session.id, ledger))


class _Claim:
    """The one write of an opening: the lease and its epoch."""

    def __init__(self, store: SessionStore, session: Session, stored: int | None) -> None:
        self._store, self._session, self._stored = store, session, stored
        self._before = Ledger(0)
        self.held = False

    async def next_epoch(self) -> int:
        """Return the epoch :meth:`take` would write."""
        if self._stored is not None:
            self._before = await self._store.ledger(self._session.id)
        return self._before.epoch + 1

    async def take(self) -> Ledger:
        """Become the one writer; nobody else has opened it since it was looked at."""
        await self._store.claim(self._session.id)
        self.held = True
        if self._stored is None:
            await self._store.create(self._session.header)
            return Ledger()
        await self._check()
        opened = self._before.opened()
        await self._store.record(self._session.id, opened)
        return opened

    async def _check(self) -> None:
        name = self._session.id
        changed = await self._store.length(name) != self._stored
        if changed or (await self._store.ledger(name)).epoch != self._before.epoch:
            raise HarnessError(
                f"session {name!r} was written to since it was loaded; resume it again", "SESSION_CHANGED"
            )
