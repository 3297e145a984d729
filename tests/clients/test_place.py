"""Where the daemon of a configuration listens: the same on both sides, and another one for everything that matters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshhooks.clients import place, starter
from dshhooks.clients.recognise import VARIABLES

ENV = {b"HOME": b"/h", b"DSHHOOKS_PLUGINS": b"a"}
NAME = place.identity([b"--no-plugins"], b"/project", ENV, b"/site/dshhooks/clients")


@pytest.mark.parametrize(
    "other",
    [
        ([], b"/project", ENV, b"/site/dshhooks/clients"),
        ([b"--config", b"--no-plugins"], b"/project", ENV, b"/site/dshhooks/clients"),
        ([b"--no-plugins"], b"/project/below", ENV, b"/site/dshhooks/clients"),
        ([b"--no-plugins"], b"/project", {**ENV, b"DSHHOOKS_PLUGINS": b"b"}, b"/site/dshhooks/clients"),
        ([b"--no-plugins"], b"/project", {**ENV, b"MODE": b""}, b"/site/dshhooks/clients"),
        ([b"--no-plugins"], b"/project", ENV, b"/other/dshhooks/clients"),
        # What is joined must not read the same when it is split elsewhere.
        ([b"--no-plugins", b"/project"], b"/project", ENV, b"/site/dshhooks/clients"),
    ],
)
def test_everything_that_matters_counts(other: tuple[list[bytes], bytes, dict[bytes, bytes], bytes]) -> None:
    """Switches, folder, environment and installation each make another configuration."""
    assert place.identity(*other) != NAME


def test_the_order_of_the_environment_does_not_count() -> None:
    """It is that of whoever started the process."""
    turned = dict(reversed(ENV.items()))
    assert place.identity([b"--no-plugins"], b"/project", turned, b"/site/dshhooks/clients") == NAME


@pytest.mark.parametrize("name", [b"CLAUDECODE", b"CLAUDE_CODE_SESSION_ID", b"GEMINI_SESSION_ID", b"QWEN_PROJECT_DIR",
                                  b"COPILOT_CLI", b"OPENHANDS_EVENT_TYPE", b"AI_AGENT"])  # fmt: skip
def test_an_agents_variables_travel_with_the_call(name: bytes) -> None:
    """They do not make another configuration."""
    assert place.split_environment({**ENV, name: b"x"}) == (ENV, {name: b"x"})


@pytest.mark.parametrize("name", [b"CLAUDE_CODE_MESSAGING_TOKEN", b"CLAUDE_CODE_OAUTH_TOKEN"])
def test_tokens_of_a_session_stay_behind(name: bytes) -> None:
    """Neither in the daemon nor sent to it."""
    assert place.split_environment({**ENV, name: b"x"}) == (ENV, {})


def test_a_model_key_stays_with_the_plugins() -> None:
    """A policy may ask a model; its key is part of the configuration."""
    with_key = {**ENV, b"GEMINI_API_KEY": b"x"}
    assert place.split_environment(with_key) == (with_key, {})


@pytest.mark.parametrize("name", [b"PWD", b"OLDPWD", b"SHLVL", b"_", *place.MISLEADING])
def test_a_shells_bookkeeping_does_not_count(name: bytes) -> None:
    """It differs between a terminal and an agent that mean the same; what names another Python is for neither."""
    assert place.split_environment({**ENV, name: b"x"}) == (ENV, {})


@pytest.mark.parametrize(
    ("runtime", "where"),
    [
        (b"/run/user/1000", b"/run/user/1000/dshhooks"),
        (b"/run/user/1000/", b"/run/user/1000/dshhooks"),
        (b"", b"/tmp/dshhooks-%d" % os.geteuid()),
        (b"relative", b"/tmp/dshhooks-%d" % os.geteuid()),
        (b"/" + b"x" * 90, b"/tmp/dshhooks-%d" % os.geteuid()),
    ],
)
def test_the_directory(runtime: bytes, where: bytes) -> None:
    """XDG_RUNTIME_DIR where it is one and a socket's path fits, else one of this user in /tmp."""
    assert place.directory({b"XDG_RUNTIME_DIR": runtime}) == where


def test_the_longest_path_fits(tmp_path: Path) -> None:
    """A socket can be bound in every directory that is chosen."""
    longest = max((place.directory({b"XDG_RUNTIME_DIR": b"/" + b"x" * length}) for length in range(1, 103)), key=len)
    assert len(place.socket_path(longest, NAME)) <= 103


def test_a_lock_is_had_once(tmp_path: Path) -> None:
    """Who comes second gets none, until the first one's file is closed."""
    folder = os.fsencode(tmp_path / "run")
    first = starter.take_lock(folder, NAME)
    assert first is not None
    assert starter.take_lock(folder, NAME) is None
    os.close(first)
    again = starter.take_lock(folder, NAME)
    assert again is not None
    os.close(again)


def test_a_lock_in_an_open_directory_is_refused(tmp_path: Path) -> None:
    """Whoever else can enter it could put a socket there."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    with pytest.raises(PermissionError, match="private"):
        starter.take_lock(os.fsencode(folder), NAME)


def test_there_are_never_too_many(tmp_path: Path) -> None:
    """So many daemons that live are enough; the sockets of dead ones do not count, and go."""
    folder = os.fsencode(tmp_path / "run")
    names = [f"{number:032x}" for number in range(starter.MOST)]
    locks = [starter.take_lock(folder, name) for name in names]
    for name in names:
        Path(os.fsdecode(place.socket_path(folder, name))).touch()
    assert starter.is_crowded(folder)
    dead = locks.pop()
    assert dead is not None
    os.close(dead)
    assert not starter.is_crowded(folder)
    assert sum(entry.endswith(".sock") for entry in os.listdir(os.fsdecode(folder))) == starter.MOST - 1
    for lock in locks:
        assert lock is not None
        os.close(lock)


def test_a_failed_start_is_not_tried_again_at_once(tmp_path: Path) -> None:
    """What a daemon that never listened leaves in its lock keeps the next call from starting another."""
    folder = os.fsencode(tmp_path / "run")
    lock = starter.take_lock(folder, NAME)
    assert lock is not None
    os.write(lock, b"starting\n")
    os.close(lock)
    starter.start(folder, NAME, [], {})
    free = starter.take_lock(folder, NAME)
    assert free is not None
    os.close(free)


def test_what_recognises_a_client_travels() -> None:
    """Every variable that tells clients apart reaches the daemon."""
    names = [name.encode() for name in VARIABLES]
    assert place.split_environment(dict.fromkeys(names, b"x")) == ({}, dict.fromkeys(names, b"x"))
