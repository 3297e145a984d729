"""What every test shares: the two backends."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["asyncio", "trio"], ids=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run a test marked ``anyio`` once on each backend."""
    return request.param
