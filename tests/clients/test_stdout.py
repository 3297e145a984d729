"""What becomes of an answer that stdout does not take."""

from __future__ import annotations

import errno

import pytest

from dshhooks.clients.denial import CLIENTS, GATES, denial
from dshhooks.clients.stdout import DirtyError, unwritten

FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("client", "word"), [(client, word) for client in CLIENTS for word in GATES[client]])
def test_a_denial_is_said_by_exit_code_and_stderr(client, word):
    """Whatever the client's form of it is, its reason is found, and why it is not where it should be."""
    out, err, code = unwritten(denial(client, word, "not now"), FULL)
    assert (out, code) == (b"", 2)
    assert err.startswith(b"not now (")
    assert b"No space left" in err


@pytest.mark.parametrize(
    "document",
    [
        b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"rules"}}\n',
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}\n',
        b'{"additionalContext":"rules"}\n',
        b'{"decision":"allow"}\n',
        b"",
    ],
)
def test_what_holds_nothing_up_is_lost(document):
    """Nothing is denied because a context could not be written."""
    assert unwritten((document, b"", 0), DirtyError("something else")) == (b"", b"", 0)


def test_an_ask_is_a_denial():
    """Nobody can be asked where the question does not arrive."""
    ask = b'{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}}\n'
    assert unwritten((ask, b"", 0), FULL)[2] == 2
