"""The session: an append-only log of events, and everything derived from it."""

from __future__ import annotations
