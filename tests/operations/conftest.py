"""What these tests share: nobody leaves an operation unfinished."""

from __future__ import annotations

import pytest

from tests.session.conftest import kept, on_disk

__all__ = ["every_scope_is_finished", "kept", "on_disk"]


@pytest.fixture(autouse=True)
def every_scope_is_finished(finished_operations: None) -> None:
    """Fail a test that started an operation and left it."""
