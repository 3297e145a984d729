"""Who has called what, how often in a row: one chain an agent, gone with the agent."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Final

from attrs import define

__all__ = ["STRONG", "Chains"]

STRONG: Final = 1024
"""How many agents that cannot be referenced weakly (a ``str``, say) are remembered; the longest unseen goes first."""


@define
class _Chain:
    """One agent's last call and how often it was made in a row."""

    agent: Callable[[], Any]
    key: object = None
    count: int = 0


class Chains:
    """The chains of all agents.

    Agents are told apart by identity: an agent may be any object, one that cannot be hashed or equals others included.
    """

    def __init__(self) -> None:
        self._chains: dict[int, _Chain] = {}
        self._strong: dict[int, None] = {}  # in order of last use

    def count(self, agent: object, key: object) -> int:
        """Note one more call; return how many equal ones in a row that makes."""
        chain = self._of(agent)
        chain.count = chain.count + 1 if chain.key == key else 1
        chain.key = key
        return chain.count

    def forget(self, agent: object) -> None:
        """Drop an agent's chain."""
        self._chains.pop(id(agent), None)
        self._strong.pop(id(agent), None)

    def __len__(self) -> int:
        return len(self._chains)

    def _of(self, agent: object) -> _Chain:
        identity = id(agent)
        chain = self._chains.get(identity)
        # The id of an agent that is gone may be taken again before its weak reference's callback has run.
        if chain is None or chain.agent() is not agent:
            chain = self._chains[identity] = _Chain(self._reference(agent, identity))
        if identity in self._strong:
            self._strong[identity] = self._strong.pop(identity)
        return chain

    def _reference(self, agent: object, identity: int) -> Callable[[], Any]:
        chains = self._chains

        def gone(reference: object) -> None:
            chain = chains.get(identity)
            if chain is not None and chain.agent is reference:
                del chains[identity]

        try:
            return weakref.ref(agent, gone)
        except TypeError:
            return self._strongly(agent, identity)

    def _strongly(self, agent: object, identity: int) -> Callable[[], Any]:
        self._strong[identity] = None
        if len(self._strong) > STRONG:
            oldest = next(iter(self._strong))
            del self._strong[oldest], self._chains[oldest]
        return lambda: agent
