"""What these tests share: nobody leaves an operation unfinished."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dshhooks.operations import track_scopes
from tests.session.conftest import kept, on_disk

__all__ = ["every_scope_is_finished", "kept", "on_disk"]


@pytest.fixture(autouse=True)
def every_scope_is_finished() -> Iterator[None]:
    """Fail a test that started an operation and left it."""
    with track_scopes() as scopes:
        yield
        assert [scope for scope in scopes if not scope.finished] == []
