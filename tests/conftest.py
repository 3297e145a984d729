"""What every test shares: the two backends, and a home without anybody's own hook files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(params=["asyncio", "trio"], ids=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run a test marked ``anyio`` once on each backend."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def no_hooks_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep hook files in the developer's home from running in tests that load every installed plugin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSHHOOKS_BRIDGE_HOME", str(tmp_path_factory.mktemp("bridge-home")))
        yield
