"""How hooks are called: plans, chains, observers, notes on exceptions, trace."""

from __future__ import annotations
