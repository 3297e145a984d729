"""The agent: handle, inbox, driver, turn, step, tool batch."""

from __future__ import annotations
