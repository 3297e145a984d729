"""What dshhooks.operations exports: everything it says, as lightly as it promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dshhooks
import dshhooks.operations as operations


@pytest.mark.parametrize("name", operations.__all__)
def test_every_name_is_importable(name):
    """And documented where it is a class or function."""
    found = getattr(operations, name)
    assert found is not None
    assert not isinstance(found, type(operations))


def test_a_set_s_error_is_a_config_error():
    """1.4: the name the specification gives it catches it; it is the one every other configuration error has."""
    assert operations.ConfigError is dshhooks.ConfigError
    with pytest.raises(operations.ConfigError) as caught:
        operations.deny("NO", "x")
    assert (caught.value.kind, caught.value.field) == ("invalid_denial", "denial")


def test_an_unknown_name_is_an_attribute_error():
    """As for any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        operations.nonsense  # noqa: B018


def test_importing_it_is_light():
    """Nothing is loaded before it is used; declaring needs no event loop."""
    check = "import sys; assert not {{{}}} & set(sys.modules)"
    for code, without in (
        ("import dshhooks.operations", "'anyio', 'attrs', 'pluggy'"),
        ("from dshhooks.operations import OperationSet, Guard, Operation, deny", "'anyio'"),
    ):
        program = f"{code}; {check.format(without)}"
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
