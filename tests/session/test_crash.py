"""SIGKILL at random moments: nothing acknowledged is lost, and every log can be repaired and continued."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from dshhooks.session.memory import MemoryStore
from tests.session.kit import Kept, check_valid

ROOT = Path(__file__).parent.parent.parent
ROUNDS = int(os.environ.get("DSHHOOKS_TEST_KILLS", "50"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_killed_writers_lose_nothing(kind: str, seed: int, tmp_path: Path) -> None:
    """Each writer finds every event that was acknowledged before, repairs once, and goes on; at last all is valid."""
    command = [sys.executable, "-m", "tests.session.crash_writer", kind, str(tmp_path), str(ROUNDS), str(seed)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == []
    assert found["opened"] > ROUNDS / 3
    for path in sorted(tmp_path.iterdir()):
        store = Kept(kind, path, MemoryStore()).open()
        for header in anyio.run(store.list):
            loaded = anyio.run(store.load, header.id)
            check_valid(loaded.events)
            assert anyio.run(store.load, header.id).repair == ()
        anyio.run(store.aclose)
