"""The command line of `handle`, understood as far as it goes."""

from __future__ import annotations

import pytest

from dshhooks.clients.arguments import ArgumentsError, read_request
from dshhooks.clients.courier import Courier
from dshhooks.clients.words import parsed


def test_every_option():
    """With a blank or an equals sign; lists said twice count twice."""
    words = ["--client", "codex", "--budget=2.5", "--on-error", "allow", "--approve", "--config", "c.toml",
             "--plugins", "a", "--plugins=b,c", "--disable", "d", "--no-plugins"]  # fmt: skip
    said, fault = parsed(words)
    assert fault == ""
    assert said == {
        "client": "codex", "budget": 2.5, "on_error": "allow", "approve": True, "config": "c.toml",
        "plugins": "a,b,c", "disable": "d", "no_plugins": True,
    }  # fmt: skip


def test_silence_is_auto_and_deny():
    """What is not said stands at the careful default."""
    said, fault = parsed([])
    assert (said["client"], said["on_error"], said["approve"], said["budget"], fault) == (
        "auto",
        "deny",
        False,
        None,
        "",
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cliend", "x"], "--cliend"),
        (["--client"], "needs a value"),
        (["--client", "clade"], "no client 'clade'"),
        (["--budget", "0"], "above 0"),
        (["--budget", "nan"], "above 0"),
        (["--budget", "inf"], "at most 3600"),
        (["--budget", "x"], "seconds"),
        (["--on-error", "maybe"], "deny or allow"),
        (["--approve=yes"], "--approve"),
        (["word"], "'word'"),
    ],
)
def test_a_fault_says_what_is_wrong(words, says):
    """And an unknown word never counts as an option that loosens something."""
    said, fault = parsed(words)
    assert says in fault
    assert (said["on_error"], said["approve"], said["no_plugins"]) == ("deny", False, False)
    with pytest.raises(ArgumentsError):
        read_request(words, b"", {}, "/w")


def test_the_rest_is_understood_beside_a_fault():
    """Which client is to be denied is said by the option that is right."""
    assert parsed(["--oops", "--client", "vibe"])[0]["client"] == "vibe"


def test_a_request_takes_along_only_the_variables_that_count():
    """Clients pass model keys on to hooks; they have no business in a request."""
    environ = {"ANTHROPIC_API_KEY": "k", "DSHHOOKS_PLUGINS": "a", "CLAUDECODE": "1", "HOME": "/h"}
    request = read_request(["--client", "claude"], b"x", environ, "/w")
    assert dict(request.environment) == {"CLAUDECODE": "1"}
    assert dict(request.setting.environment) == {"DSHHOOKS_PLUGINS": "a"}
    assert request.setting.cwd == "/w"


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        (["--client", "claude"], 20.0),
        (["--client=copilot"], 15.0),
        (["--client", "copilot-native"], 15.0),
        ([], 15.0),
        (["--budget", "3", "--client", "claude"], 3.0),
        (["--budget", "soon", "--client", "claude"], 20.0),
    ],
    ids=str,
)
def test_the_budget_is_the_clients_unless_one_is_given(words, seconds):
    """Well before the client's own time-out; whoever is not named may be Copilot, which waits for 30 seconds only."""
    courier = Courier(lambda name: None, words)
    courier.read_arguments()
    assert courier.ends - courier.began == pytest.approx(seconds)
