"""What tests of answers share: counters of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def own_state(tmp_path_factory):
    """Keep the counters of turns out of the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
