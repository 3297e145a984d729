"""Every store test runs on each kind of store."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshhooks.session.memory import MemoryStore
from tests.session.kit import STORES, Kept


@pytest.fixture(params=STORES)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """An empty place for sessions, of each kind."""
    return Kept(request.param, tmp_path / "kept", MemoryStore())


@pytest.fixture(params=["jsonl", "sqlite"])
def on_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    """An empty place for sessions that outlives the process, of each kind."""
    return Kept(request.param, tmp_path / "kept", MemoryStore())
