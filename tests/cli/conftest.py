"""The project every test of the command line starts with."""

from __future__ import annotations

import pytest

from tests.cli.kit import Project


@pytest.fixture
def project(tmp_path):
    """A folder without configuration, and nothing installed but what the environment of the tests has."""
    made = Project(tmp_path)
    yield made
    made.end()
