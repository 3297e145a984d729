"""What the whole suite shares, that of the contrib plugins included."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Nothing is timed in a test: how long an example takes says how busy the machine is.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


@pytest.fixture(scope="session", autouse=True)
def no_hooks_of_the_developer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep hook files in the developer's home from running in tests that load every installed plugin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DSHHOOKS_BRIDGE_HOME", str(tmp_path_factory.mktemp("bridge-home")))
        yield
