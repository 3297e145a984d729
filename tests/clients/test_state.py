"""The log and the counter of continuations."""

from __future__ import annotations

import os
import stat

import pytest

from dshhooks.clients import state


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of this test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path


def write(text: bytes) -> None:
    """Add to the log."""
    log = state.open_log()
    os.write(log, text)
    os.close(log)


def test_folders_follow_the_xdg_variables(monkeypatch, home):
    """An absolute path counts; a relative one does not."""
    assert state.state_folder() == str(home / ".local/state/dshhooks")
    monkeypatch.setenv("XDG_STATE_HOME", "/s")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert (state.state_folder(), state.cache_folder()) == ("/s/dshhooks", str(home / ".cache/dshhooks"))


def test_the_log_is_the_owners_and_grows(home):
    """Appended to, mode 0600, in a folder of mode 0700."""
    write(b"a\n")
    write(b"b\n")
    file = home / ".local/state/dshhooks/handle.log"
    assert file.read_bytes() == b"a\nb\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_full_log_is_put_aside_once(home):
    """One older one is kept, so it never takes more than twice its limit."""
    write(b"x" * (state.MAX_LOG + 1))
    write(b"new\n")
    folder = home / ".local/state/dshhooks"
    assert (folder / "handle.log").read_bytes() == b"new\n"
    assert sorted(path.name for path in folder.iterdir()) == ["handle.log", "handle.log.1"]


@pytest.mark.parametrize("obstacle", ["file", "link", "fifo"])
def test_where_there_can_be_no_log_there_is_none(home, obstacle):
    """Neither an error nor a wait: what plugins print goes nowhere."""
    folder = home / ".local/state/dshhooks"
    folder.parent.mkdir(parents=True)
    if obstacle == "file":
        folder.write_bytes(b"")
    else:
        folder.mkdir()
        place = folder / "handle.log"
        place.symlink_to(home / "elsewhere") if obstacle == "link" else os.mkfifo(place)
    write(b"x")
    assert not (home / "elsewhere").exists()


def test_without_a_home_nothing_is_kept(tmp_path, monkeypatch):
    """In the working directory it would be the agent's to change: the list of plugins, above all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "nowhere")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    os.close(state.open_log())
    assert not state.may_go_on("codex", "s", "more")
    assert all(os.path.isabs(folder) for folder in (state.state_folder(), state.cache_folder()))
    assert list(tmp_path.iterdir()) == []


def test_a_continuation_is_known_again_as_a_prompt():
    """By its text, and only while the turn goes on."""
    assert not state.is_continuation("gemini", "p", "run the tests")
    state.may_go_on("gemini", "p", "run the tests")
    assert state.is_continuation("gemini", "p", " run the tests\n")
    assert not state.is_continuation("gemini", "p", "something else")
    state.forget_continuations("gemini", "p")
    assert not state.is_continuation("gemini", "p", "run the tests")


def test_eight_continuations_and_no_more():
    """Then the turn ends, until somebody forgets."""
    assert [state.may_go_on("codex", "s", "more") for _ in range(9)] == [True] * 8 + [False]
    assert state.may_go_on("codex", "other", "more")
    state.forget_continuations("codex", "s")
    assert state.may_go_on("codex", "s", "more")


def test_what_cannot_be_counted_does_not_go_on(home):
    """No session, or no place to count: a turn that ends is better than one that never does."""
    assert not state.may_go_on("codex", "", "more")
    (home / ".local").write_bytes(b"")
    assert not state.may_go_on("codex", "s", "more")


def test_a_sessions_name_is_no_path(home):
    """The client chose it."""
    assert state.may_go_on("codex", "../../../x/\x00é", "more")
    assert [path.parent.name for path in home.rglob("codex-*")] == ["turns"]
