"""The tools' bodies: what they hand to a command and what they return."""

from __future__ import annotations

import os
from contextlib import suppress

import anyio
import pytest
from dshhooks_workspace_tools.actions import MAX_COMMAND_BYTES, Actions
from dshhooks_workspace_tools.errors import WorkspaceError
from dshhooks_workspace_tools.options import WorkspaceOptions

pytestmark = pytest.mark.anyio


@pytest.fixture
def actions(root):
    return Actions(WorkspaceOptions(str(root)))


def with_options(root, **how):
    return Actions(WorkspaceOptions(str(root), **how))


async def code_of(awaitable):
    with pytest.raises(WorkspaceError) as caught:
        await awaitable
    return caught.value.code


class TestBash:
    async def test_value(self, actions, root):
        """A command runs in the root and its value has exactly the promised keys."""
        assert await actions.bash("pwd; echo no >&2; exit 3") == {
            "exit_code": 3,
            "signal": None,
            "stdout": f"{root}\n",
            "stderr": "no\n",
            "truncated": False,
            "timed_out": False,
        }

    async def test_folder(self, actions, root, links):
        """``cwd`` is a folder of the workspace; links inside are fine."""
        for cwd in ("sub", f"{root}/sub", "in-dir", "in-absolute"):
            assert (await actions.bash("pwd; cat b.txt", cwd))["stdout"] == f"{root}/sub\nbeta\n"

    @pytest.mark.parametrize(
        ("cwd", "code"),
        [
            ("..", "OUTSIDE_WORKSPACE"),
            ("out-dir", "OUTSIDE_WORKSPACE"),
            ("/", "OUTSIDE_WORKSPACE"),
            ("nope", "NOT_FOUND"),
            ("a.txt", "NOT_A_DIRECTORY"),
        ],
    )
    async def test_folder_refused(self, actions, links, tmp_path, cwd, code):
        """A command never starts in a folder outside, or in none."""
        assert await code_of(actions.bash(f"touch {tmp_path}/ran", cwd)) == code
        assert not (tmp_path / "ran").exists()

    async def test_folder_swapped_for_a_link(self, actions, root, outside, swapping):
        """While a folder and a link out are swapped, a command starts in the folder or not at all."""
        (root / "link").symlink_to(outside)
        inode, started = (root / "sub").stat().st_ino, set()
        with swapping(root / "sub", root / "link"):
            for _ in range(30):
                with suppress(WorkspaceError):
                    started.add((await actions.bash("stat -c %i .", "sub"))["stdout"])
        assert started <= {f"{inode}\n"}

    async def test_source_like_an_option(self, actions):
        """Source that begins with a dash is source."""
        assert (await actions.bash("-x"))["exit_code"] == 127

    async def test_no_source(self, actions):
        """Empty source does nothing, successfully."""
        assert (await actions.bash(""))["exit_code"] == 0

    @pytest.mark.parametrize(
        ("source", "code"),
        [
            ("echo \0", "INVALID_ARGUMENT"),
            ("echo \ud800", "INVALID_ARGUMENT"),
            ("#" * (MAX_COMMAND_BYTES + 1), "TOO_LARGE"),
        ],
        ids=["nul", "surrogate", "long"],
    )
    async def test_source_refused(self, actions, source, code):
        """Source no shell could be given is refused with the reason."""
        assert await code_of(actions.bash(source)) == code

    async def test_longest_source(self, actions):
        """The longest source accepted really runs."""
        end = "\necho ran"
        assert (await actions.bash("#" * (MAX_COMMAND_BYTES - len(end)) + end))["stdout"] == "ran\n"

    async def test_environment_too_long(self, root):
        """An environment the system refuses is an error that says so."""
        big = {f"V{index}": "x" * 100_000 for index in range(40)}
        assert await code_of(with_options(root, env=big).bash(":")) == "TOO_LARGE"

    async def test_environment(self, root, monkeypatch):
        """Commands inherit the environment without the hidden names, plus what the options set."""
        monkeypatch.setenv("OPENAI_API_KEY", "k1")
        monkeypatch.setenv("MINE", "k2")
        show = "echo ${OPENAI_API_KEY-none} ${MINE-none} ${SET-none}; test -n $PATH"
        assert (await with_options(root).bash(show))["stdout"] == "none k2 none\n"
        changed = with_options(root, hidden_env=("MINE",), env={"SET": "s"})
        assert (await changed.bash(show))["stdout"] == "k1 none s\n"

    async def test_shell(self, root):
        """Another shell can be configured; a missing one is named together with the option."""
        assert (await with_options(root, shell="sh").bash("echo $0"))["stdout"].endswith("sh\n")
        with pytest.raises(WorkspaceError, match=r"'no-shell'.*workspace-tools\.shell") as caught:
            await with_options(root, shell="no-shell").bash(":")
        assert caught.value.code == "SHELL_NOT_FOUND"

    @pytest.mark.parametrize("wanted", [None, 0.1, 1000])
    async def test_time_limit(self, root, wanted):
        """The call's wish, or the default, but never more than the maximum."""
        limited = with_options(root, bash_timeout=0.1, max_bash_timeout=0.2)
        done = await limited.bash("sleep 1000", timeout=wanted)
        assert (done["timed_out"], done["exit_code"], done["signal"]) == (True, None, "SIGTERM")

    @pytest.mark.parametrize("wanted", [0, -1, float("nan")])
    async def test_bad_time_limit(self, actions, wanted):
        """A time that is no time is refused."""
        assert await code_of(actions.bash(":", timeout=wanted)) == "INVALID_ARGUMENT"

    async def test_root_swapped_for_a_link(self, actions, root, outside):
        """A command that replaces its own workspace by a link out gains nothing for the next call."""
        await actions.bash(f"mv {root} {root}-moved; ln -s {outside} {root}")
        assert await code_of(actions.bash("cat secret.txt")) in ("NOT_A_DIRECTORY", "SYMLINK_LOOP")
        assert await code_of(actions.read_file("secret.txt")) in ("NOT_A_DIRECTORY", "SYMLINK_LOOP")

    async def test_nothing_is_left_open(self, actions, open_fds):
        """Accepted and refused calls close the folders they opened."""
        await actions.bash(":")
        before = open_fds()
        await actions.bash(":", "sub")
        await code_of(actions.bash(":", "a.txt"))
        assert open_fds() == before


class TestFiles:
    async def test_write_then_read_then_list(self, actions):
        """The three file tools see each other's work."""
        assert await actions.write_file("x/y.txt", "1\n2\n") == {"path": "x/y.txt", "bytes": 4}
        found = await actions.read_file("x/y.txt", 1, 1)
        assert (found["content"], found["truncated"], found["next_offset"]) == ("2\n", False, None)
        listed = await actions.list_files("x")
        assert listed == {
            "path": "x",
            "entries": [{"path": "x/y.txt", "type": "file", "size": 4}],
            "truncated": False,
        }

    async def test_limits_come_from_the_options(self, root):
        """Bytes read, bytes written and entries listed are limited."""
        small = with_options(root, max_read_bytes=3, max_write_bytes=3, max_entries=1)
        assert (await small.read_file("a.txt"))["content"] == "alp"
        assert await code_of(small.write_file("a.txt", "long")) == "TOO_LARGE"
        assert (await small.list_files())["truncated"]

    async def test_long_read_is_cancelled(self, actions, root):
        """Skipping through a huge file ends soon after its cancellation."""
        (root / "huge").touch()
        os.truncate(root / "huge", 2**40)
        with anyio.move_on_after(0.05) as scope:
            await actions.read_file("huge", 10**9)
        assert scope.cancelled_caught

    async def test_long_listing_is_cancelled(self, actions, root):
        """A listing stops at the next folder after its cancellation."""
        (root / "d").mkdir()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await actions.list_files(recursive=True)
        assert scope.cancelled_caught


class TestOptions:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"root": ""},
            {"root": "a\0b"},
            {"shell": ""},
            {"bash_timeout": 0},
            {"bash_timeout": float("inf")},
            {"max_bash_timeout": float("nan")},
            {"kill_grace": -1},
            {"max_output_bytes": 0},
            {"max_entries": True},
        ],
    )
    async def test_wrong(self, wrong):
        """A value that cannot work is refused, naming the option."""
        with pytest.raises(ValueError, match=next(iter(wrong))):
            WorkspaceOptions(**wrong)

    async def test_default_root(self, root, monkeypatch):
        """Without options the workspace is the working directory."""
        monkeypatch.chdir(root)
        assert (await Actions(WorkspaceOptions()).read_file("a.txt"))["content"] == "alpha\n"
        assert os.getcwd() == str(root)
