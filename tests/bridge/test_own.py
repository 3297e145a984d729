"""The bridge does not run dshhooks itself: it would be asked again by what it asks."""

from __future__ import annotations

import pytest

from dshhooks.bridge.own import is_own_command
from dshhooks.clients.install_command import argv_of, shell_command
from tests.bridge.kit import parsed

OWN = [
    shell_command(argv_of("claude")),
    "'/a b/python' -I -S '/x y/dshhooks/clients/lean.py' --client claude",
    "dshhooks handle --client claude",
    '"/opt/my env/bin/dshhooks" handle',
    "python -m dshhooks handle --client auto",
]
OTHERS = ["./guard.sh", "dshhooks bridge run --event Stop", "./dshhooks.sh handle", "dshhooks handles", "lean.py"]


@pytest.mark.parametrize("command", OWN)
def test_own_commands_are_known(command):
    """Installed by us, or written by hand."""
    assert is_own_command(command)


@pytest.mark.parametrize("command", [*OTHERS, None, 3])
def test_other_commands_are_not(command):
    """Whoever else is called so, and what is no command."""
    assert not is_own_command(command)


@pytest.mark.parametrize("command", OWN)
def test_own_hooks_do_not_run_and_are_told(command):
    """Neighbours in the same group run; nothing is wrong with the file."""
    hooks = [{"type": "command", "command": command}, {"type": "command", "command": "./guard.sh"}]
    result, notes = parsed({"hooks": {"PreToolUse": [{"hooks": hooks}]}}, "claude")
    assert [hook.command for group in result.groups for hook in group.hooks] == ["./guard.sh"]
    assert [(note.level, note.code, note.path) for note in notes] == [
        ("info", "own-hook", "/hooks/PreToolUse/0/hooks/0")
    ]


def test_an_own_hook_in_a_platform_command():
    """Copilot's form has no plain `command`."""
    hook = {"type": "command", "bash": OWN[0]}
    result, _ = parsed({"hooks": {"PreToolUse": [{"hooks": [hook]}]}}, "claude")
    assert result.groups == ()
