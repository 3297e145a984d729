"""A hook nobody tests and nobody uses is not part of the contract yet."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dshhooks.reference import hookspecs_table

ROOT = Path(__file__).parent.parent
NAMES = [row.name for row in hookspecs_table()]

# Hooks whose call sites land later, or that no contrib plugin and no example implements yet; each leaves this list when
# it is tested and used.
NOT_YET_CALLED: set[str] = set()


def words(*patterns: str) -> set[str]:
    """Every word in these files. This one is left out: it names all of them."""
    found: set[str] = set()
    for pattern in patterns:
        for file in ROOT.glob(pattern):
            if file != Path(__file__):
                found.update(re.findall(r"\w+", file.read_text(encoding="utf-8")))
    return found


@pytest.fixture(scope="module")
def tested():
    """Words of the tests; those of the contract itself only say that a hook exists."""
    return words("tests/[!h]*/**/*.py", "tests/*.py", "contrib_plugins/*/tests/**/*.py")


@pytest.fixture(scope="module")
def used():
    """Names of functions in contrib plugins and examples: a plugin implements a hook by a function of its name."""
    found: set[str] = set()
    for pattern in ("contrib_plugins/*/dshhooks_*/**/*.py", "examples/**/*.py"):
        for file in ROOT.glob(pattern):
            text = file.read_text(encoding="utf-8")
            found.update(re.findall(r"def (\w+)\(", text))
            found.update(re.findall(r'specname="(\w+)"', text))
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_YET_CALLED])
def test_a_hook_is_tested_and_used(name, tested, used):
    """Some test names it, and some plugin or example of this repository implements it."""
    assert name in tested, f"no test names {name}"
    assert name in used, f"no contrib plugin or example implements {name}"


@pytest.mark.parametrize("name", sorted(NOT_YET_CALLED))
def test_an_exception_is_still_needed(name, tested, used):
    """A hook that is tested and used must leave the list, and so must one that is gone."""
    assert name in NAMES, f"{name} is no hook: remove it from NOT_YET_CALLED"
    assert not (name in tested and name in used), f"{name} is tested and used: remove it from NOT_YET_CALLED"
