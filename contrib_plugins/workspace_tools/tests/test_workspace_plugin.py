"""The plugin in a real harness: registration, results, errors, scheduling, cancellation."""

from __future__ import annotations

import os
from importlib.metadata import entry_points

import anyio
import pytest
from dshhooks_workspace_tools import WorkspaceOptions, WorkspaceTools
from dshhooks_workspace_tools.definitions import definitions

from dshhooks import CancelSource, Harness, ToolCall, ToolRegistry, content_text

pytestmark = pytest.mark.anyio

NAMES = ["bash", "read_file", "write_file", "list_files"]


@pytest.fixture
def plugin(root):
    return WorkspaceTools(WorkspaceOptions(str(root), kill_grace=0.3))


@pytest.fixture
def registry(plugin):
    registry = ToolRegistry()
    plugin.register_tools(registry)
    return registry


def call(name, arguments, signal=None):
    return ToolCall(id="c1", name=name, arguments=arguments, signal=signal)


class TestRegistration:
    async def test_in_a_harness(self, plugin, monkeypatch, tmp_path):
        """Opening a harness with the plugin makes the four tools visible and usable."""
        monkeypatch.setenv("DSHHOOKS_NO_PLUGINS", "1")
        monkeypatch.chdir(tmp_path)
        async with Harness.open(plugins=(plugin,)) as harness:
            assert [schema["name"] for schema in harness.tools.schemas()] == NAMES
            result = await harness.tools.call("bash", {"command": "cat a.txt"})
        assert result.value["stdout"] == "alpha\n"

    async def test_class_without_options(self, root, monkeypatch):
        """The class alone is a plugin; its workspace is the working directory."""
        monkeypatch.setenv("DSHHOOKS_NO_PLUGINS", "1")
        monkeypatch.chdir(root)
        async with Harness.open(plugins=(WorkspaceTools,)) as harness:
            assert (await harness.tools.call("read_file", {"path": "a.txt"})).value["content"] == "alpha\n"

    @pytest.mark.skipif(
        not [e for e in entry_points(group="dshhooks") if e.name == "workspace-tools"], reason="not installed"
    )
    async def test_by_entry_point_and_options(self, root, monkeypatch, tmp_path):
        """Installed, it is found by its name and takes its options from the configuration."""
        monkeypatch.chdir(tmp_path)
        config = tmp_path / "dshhooks.toml"
        config.write_text(
            f'[plugins]\nenable = ["workspace-tools"]\n[plugin.workspace-tools]\nroot = "{root}"\nbash_timeout = 9\n'
            'hidden_env = ["X"]\nskip_dirs = []\n[plugin.workspace-tools.env]\nGREETING = "hello"\n'
        )
        async with Harness.open(config) as harness:
            result = await harness.tools.call("bash", {"command": "echo $GREETING; pwd"})
        assert result.value["stdout"] == f"hello\n{root}\n"

    async def test_properties(self, registry):
        """Readers may overlap and be repeated; a command may neither; its own limit comes before any other."""
        for name in ("read_file", "list_files"):
            assert registry.get(name).idempotent
            assert registry.execution_mode(call(name, {})) == "parallel"
        for name in ("bash", "write_file"):
            assert registry.execution_mode(call(name, {})) == "exclusive"
        assert not registry.get("bash").idempotent
        assert registry.get("bash").timeout > 600
        assert all(registry.get(name).cancellation == "scope" for name in NAMES)

    async def test_descriptions_tell_the_limits(self, root):
        """What the model reads says what the options say."""
        options = WorkspaceOptions(str(root), bash_timeout=7, max_entries=5, keep_background=True)
        bash, _read, _write, listing = definitions(WorkspaceTools(options).actions)
        assert "keep running" in bash.description
        assert "default 7, at most 600" in bash.parameters["properties"]["timeout"]["description"]
        assert "at most 5 entries" in listing.description


class TestResults:
    async def test_failing_command_is_a_success(self, registry):
        """A non-zero exit is a value the model reads, not a failure of the tool."""
        result = await registry.call("bash", {"command": "echo out; echo err >&2; exit 2"})
        assert not result.is_error
        assert result.value["exit_code"] == 2
        assert content_text(result.content) == "out\n[stderr]\nerr\n[exit code 2]"

    @pytest.mark.parametrize(
        ("command", "text"),
        [
            ("true", "[no output]"),
            ("printf a", "a"),
            ("kill -TERM $$", "[ended by SIGTERM]"),
            ("sleep 1000", "[timed out and was ended]\n[ended by SIGTERM]"),
        ],
    )
    async def test_command_text(self, root, command, text):
        """The text says how a command ended, unless it simply succeeded."""
        registry = ToolRegistry()
        WorkspaceTools(WorkspaceOptions(str(root), bash_timeout=0.5)).register_tools(registry)
        assert content_text((await registry.call("bash", {"command": command})).content) == text

    async def test_output_is_capped_and_clean(self, registry):
        """A binary flood becomes a small value that is lossless JSON and valid Unicode."""
        command = r"head -c 5000000 /dev/urandom; printf '\xed\xa0\x80'"
        result = await registry.call("bash", {"command": command})
        assert not result.is_error
        assert result.value["truncated"]
        assert len(result.value["stdout"].encode()) < 3 * 32 * 1024 + 100

    async def test_file_texts(self, registry, root):
        """Read, write and list results read naturally."""
        (root / "bin").write_bytes(b"\xff")
        (root / "empty").touch()
        (root / "link").symlink_to("a.txt")
        texts = [
            (await registry.call(name, arguments)).content[0].text
            for name, arguments in [
                ("write_file", {"path": "sub/c", "content": "€"}),
                ("read_file", {"path": "a.txt"}),
                ("read_file", {"path": "bin"}),
                ("read_file", {"path": "empty"}),
                ("read_file", {"path": "a.txt", "offset": 3}),
                ("list_files", {}),
                ("list_files", {"pattern": "nothing"}),
            ]
        ]
        assert texts == [
            "wrote 3 bytes to sub/c",
            "alpha\n",
            "\ufffd\n[not UTF-8: some bytes are shown as \ufffd; do not write this text back]",
            "[empty]",
            "[nothing at offset 3]",
            "a.txt (6 bytes)\nbin (1 bytes)\nempty (0 bytes)\nlink@\nsub/",
            "[nothing matches]",
        ]

    async def test_continued_reading(self, registry, root):
        """A cut text names the offset to go on with."""
        (root / "f").write_text("1\n2\n3\n")
        result = await registry.call("read_file", {"path": "f", "limit": 2})
        assert content_text(result.content) == "1\n2\n[the file goes on: read with offset=2]"


class TestErrors:
    @pytest.mark.parametrize(
        ("name", "arguments", "code"),
        [
            ("read_file", {"path": "../outside/secret.txt"}, "OUTSIDE_WORKSPACE"),
            ("read_file", {"path": "out-chain"}, "OUTSIDE_WORKSPACE"),
            ("write_file", {"path": "out-dangling", "content": "x"}, "OUTSIDE_WORKSPACE"),
            ("list_files", {"path": "out-dir"}, "OUTSIDE_WORKSPACE"),
            ("bash", {"command": "ls", "cwd": "out-dir"}, "OUTSIDE_WORKSPACE"),
            ("read_file", {"path": "nope"}, "NOT_FOUND"),
            ("read_file", {"path": "sub"}, "NOT_A_FILE"),
        ],
    )
    async def test_codes(self, registry, links, name, arguments, code):
        """A refusal is a failure with the class and code of the plugin's error."""
        result = await registry.call(name, arguments)
        assert (result.error.info.name, result.error.info.code) == ("WorkspaceError", code)

    @pytest.mark.parametrize(
        ("name", "arguments", "message"),
        [
            ("bash", {}, "command is required"),
            ("bash", {"command": None}, "command must be of type string"),
            ("bash", {"command": ["ls"]}, "command must be of type string"),
            ("bash", {"command": "ls", "timeout": "5"}, "timeout must be of type number"),
            ("bash", {"command": "ls", "timeout": True}, "timeout must be of type number"),
            ("read_file", {"path": "a.txt", "offset": 1.5}, "offset must be of type integer"),
            ("list_files", {"recursive": 1}, "recursive must be of type boolean"),
            ("write_file", {"path": 1}, "content is required; path must be of type string"),
            ("list_files", [], "arguments must be of type object"),
        ],
    )
    async def test_arguments(self, registry, name, arguments, message):
        """Wrong arguments are INVALID_ARGS and name every violation."""
        result = await registry.call(name, arguments)
        assert result.error.info.code == "INVALID_ARGS"
        assert message in result.error.message

    async def test_lenient_arguments(self, registry):
        """Null for an optional argument, unknown arguments and whole floats are what models send."""
        arguments = {"path": "a.txt", "offset": 0.0, "limit": None, "reason": "curious"}
        assert (await registry.call("read_file", arguments)).value["content"] == "alpha\n"


class TestCancel:
    async def test_signal_ends_the_tree(self, registry, tmp_path, running):
        """Aborting a call's signal ends the command with everything it started before the result is there."""
        note, source = tmp_path / "note", CancelSource()
        os.mkfifo(note)
        ready = os.open(note, os.O_RDONLY | os.O_NONBLOCK)
        command = f"setsid sleep 1000 & echo $$ $! > {note}; wait"
        results = []

        async def run():
            results.append(await registry.execute(call("bash", {"command": command}, source.signal)))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await anyio.wait_readable(ready)
                source.abort("enough")
        pids = [int(word) for word in os.read(ready, 100).split()]
        os.close(ready)
        assert results[0].error.info.code == "ABORTED"
        assert len(pids) == 2
        assert not any(running(pid) for pid in pids)

    async def test_aborted_before(self, registry, root):
        """A call whose signal is aborted already starts nothing."""
        source = CancelSource()
        source.abort("no")
        result = await registry.execute(call("bash", {"command": "touch ran"}, source.signal))
        assert result.error.info.code == "ABORTED_BEFORE_DISPATCH"
        assert not (root / "ran").exists()

    async def test_signal_ends_a_long_read(self, registry, root):
        """Aborting a call that skips through a huge file ends it."""
        (root / "huge").touch()
        os.truncate(root / "huge", 2**40)
        source, results = CancelSource(), []

        async def run():
            arguments = {"path": "huge", "offset": 10**9}
            results.append(await registry.execute(call("read_file", arguments, source.signal)))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await anyio.wait_all_tasks_blocked()
                source.abort("enough")
        assert results[0].error.info.code == "ABORTED"
