"""Our entry goes into a settings file and comes out of it, and nothing else in the file ever changes."""

from __future__ import annotations

import json
import os
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest

from dshhooks.clients.install import installation, preview
from dshhooks.clients.install_command import argv_of, or_no, or_nothing, shell_command
from dshhooks.clients.settings_text import SettingsError
from dshhooks.clients.table import CLIENTS
from hookspecs.errors import HarnessError
from tests.clients.install_kit import RICH, Folder, snapshot

# What a settings file may look like before we come.
FILES = {
    "rich": RICH,
    "empty object": "{}",
    "empty object, lines": "{\n}\n",
    "no hooks": '{"model": "opus"}\n',
    "empty hooks": '{\n  "hooks": {}\n}\n',
    "empty event": '{\n  "hooks": {\n    "PreToolUse": [ ]\n  }\n}\n',
    "tabs": '{\n\t"model": "opus"\n}',
    "minified": '{"model":"opus","hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    "line ends of Windows": RICH.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + RICH,
    "no final newline": RICH.rstrip("\n"),
    "nothing": "",
    "blank lines": "\n\n",
    "comments": '// mine\n{\n  "model": "opus", // best\n}\n',
}
JSON_CLIENTS = [name for name, row in CLIENTS.items() if row.project_file.endswith("json")]


@pytest.fixture(params=CLIENTS)
def folder(request, tmp_path):
    """An empty project, for each client."""
    return Folder(tmp_path, request.param)


@pytest.fixture
def claude(tmp_path):
    """An empty project for Claude Code."""
    return Folder(tmp_path)


class TestThereAndBack:
    def test_in_an_empty_folder(self, folder):
        """What was made is gone again: the file, and the folders around it."""
        folder.install()
        assert folder.file.is_file()
        folder.uninstall()
        assert snapshot(folder.root) == {}

    @pytest.mark.parametrize("text", FILES.values(), ids=FILES)
    @pytest.mark.parametrize("client", JSON_CLIENTS)
    def test_in_a_file_that_is_there(self, tmp_path, client, text):
        """Every byte and the mode come back, and nothing is left beside the file."""
        folder = Folder(tmp_path, client)
        folder.write(text, mode=0o640)
        before = snapshot(tmp_path)
        folder.install()
        assert snapshot(tmp_path) != before
        folder.uninstall()
        assert snapshot(tmp_path) == before

    @pytest.mark.parametrize("text", ["a = 1", "[[hooks]]\nname = 'mine'\ntype = 'pre_tool'\ncommand = 'x'\n\n\n", ""])
    def test_in_a_toml_file(self, tmp_path, text):
        """The same for Vibe."""
        folder = Folder(tmp_path, "vibe")
        folder.write(text)
        before = snapshot(tmp_path)
        folder.install()
        folder.uninstall()
        assert snapshot(tmp_path) == before

    def test_twice_is_once(self, folder):
        """The second time nothing is written, and it is said so."""
        folder.install()
        before = snapshot(folder.root)
        assert not folder.install().changed
        assert snapshot(folder.root) == before

    def test_twice_and_out_of_a_rich_file(self, claude):
        """Installing again does not make our own work the original."""
        claude.write(RICH)
        claude.install()
        claude.install(events="PreToolUse")
        claude.install()
        claude.uninstall()
        assert snapshot(claude.root).keys() == {".claude", ".claude/settings.json"}
        assert claude.text == RICH

    def test_what_somebody_changed_meanwhile_stays(self, claude):
        """Only our entries go."""
        claude.write(RICH)
        claude.install()
        claude.file.write_text(claude.text.replace('"A": "1"', '"A": "2", "B": "3"').replace("./guard.sh", "./g.sh"))
        claude.uninstall()
        assert claude.text == RICH.replace('"A": "1"', '"A": "2", "B": "3"').replace("./guard.sh", "./g.sh")

    def test_a_hook_somebody_added_behind_ours_stays(self, claude):
        """Also when the file was made by us."""
        claude.install(events="PreToolUse")
        document = json.loads(claude.text)
        document["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": "theirs"}]})
        claude.write(json.dumps(document, indent=2))
        claude.uninstall()
        assert json.loads(claude.text) == {
            "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "theirs"}]}]}
        }

    def test_a_handler_somebody_put_into_our_group_stays(self, claude):
        """A group goes only when nothing of somebody else is in it."""
        claude.install(events="PreToolUse")
        document = json.loads(claude.text)
        document["hooks"]["PreToolUse"][0]["hooks"].insert(0, {"type": "command", "command": "theirs"})
        claude.write(json.dumps(document))
        claude.uninstall()
        hooks = [{"type": "command", "command": "theirs"}]
        assert json.loads(claude.text) == {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": hooks}]}}

    def test_empty_lists_that_were_there_stay(self, claude):
        """Though the file was changed meanwhile, so that it cannot simply be put back."""
        claude.write('{\n  "model": "a",\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n')
        claude.install()
        claude.file.write_text(claude.text.replace('"a"', '"b"'))
        claude.uninstall()
        assert claude.text == '{\n  "model": "b",\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n'

    def test_uninstalling_what_is_not_there(self, claude):
        """Nothing happens, and nothing is made."""
        assert not claude.uninstall().changed
        assert snapshot(claude.root) == {}
        claude.write(RICH)
        assert not claude.uninstall().changed
        assert claude.text == RICH

    def test_other_files_in_our_folder_stay(self, claude):
        """A folder is removed only when it is empty."""
        claude.install()
        (claude.file.parent / "agents.md").write_text("mine")
        claude.uninstall()
        assert snapshot(claude.root).keys() == {".claude", ".claude/agents.md"}


class TestBackup:
    def test_holds_the_original(self, claude):
        """Bytes and mode, once: what comes later is not the original."""
        claude.write(RICH, mode=0o600)
        result = claude.install()
        assert result.backup == claude.backup
        assert claude.backup.read_text() == RICH
        assert claude.backup.stat().st_mode & 0o777 == 0o600
        claude.file.write_text(claude.text.replace('"A"', '"Z"'))
        claude.install(events="PreToolUse")
        assert claude.backup.read_text() == RICH

    def test_stays_when_the_original_is_not_what_comes_back(self, claude):
        """Somebody may still want it."""
        claude.write(RICH)
        claude.install()
        claude.file.write_text(claude.text.replace('"A"', '"Z"'))
        assert claude.uninstall().backup == claude.backup
        assert claude.backup.read_text() == RICH

    def test_of_another_time_is_not_used(self, claude):
        """Somebody took our entries out by hand and went on: that is the original now."""
        claude.write(RICH)
        claude.install()
        claude.write('{"new": true}')
        claude.install()
        claude.uninstall()
        assert claude.text == '{"new": true}'

    def test_of_a_file_that_is_gone_is_not_used(self, claude):
        """A file that was removed does not come back."""
        claude.write("{}")
        claude.install()
        claude.file.unlink()
        claude.install()
        claude.uninstall()
        assert snapshot(claude.root) == {}

    def test_there_is_none_of_nothing(self, claude):
        """A file we made has no original."""
        assert claude.install().backup is None
        assert not claude.backup.exists()


class TestUpdate:
    def test_an_old_command_is_replaced_in_its_place(self, claude):
        """The rest of the entry stays as somebody wrote it."""
        old = '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"timeout": 99,\n "command": "%s"}]}]}}'
        claude.write(old % "/old/python /old/dshhooks/clients/lean.py --client claude")
        claude.install(events="PreToolUse")
        assert claude.text == old % or_no(shell_command(argv_of("claude")))

    @pytest.mark.parametrize(
        "command", ["dshhooks handle --client claude", "/x/bin/dshhooks handle", "py -m dshhooks handle"]
    )
    def test_an_entry_by_hand_is_one_of_ours(self, claude, command):
        """There are not two of us at one event."""
        claude.write(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}))
        claude.install(events="Stop")
        groups = json.loads(claude.text)["hooks"]["Stop"]
        ours = or_nothing(shell_command(argv_of("claude")))
        assert [hook["command"] for group in groups for hook in group["hooks"]] == [ours]

    @pytest.mark.parametrize("command", ["dshhooks bridge run", "./dshhooks.sh handle", "cat dshhooks/handle"])
    def test_other_commands_are_not_ours(self, claude, command):
        """Neither replaced nor removed."""
        text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}})
        claude.write(text)
        claude.install()
        claude.uninstall()
        assert claude.text == text

    @pytest.mark.parametrize(
        "command",
        [
            "./audit.sh && dshhooks handle --client claude", "tee -a log | dshhooks handle", "true; dshhooks handle",
            "/x/python -I -S /y/dshhooks/clients/lean.py --client claude || ./alarm.sh", "dshhooks handle > answer",
            "grep -c 'dshhooks handle ' log", "dshhooks handle\n./audit.sh",
        ],
    )  # fmt: skip
    def test_a_command_that_does_more_is_not_ours_to_change(self, claude, command):
        """It was replaced by ours, and taken out with it: the file of somebody who had nothing else was gone."""
        text = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}})
        claude.write(text)
        assert any(command in warning for warning in claude.install().warnings)
        groups = json.loads(claude.text)["hooks"]["PreToolUse"]
        assert [hook["command"] for group in groups for hook in group["hooks"]] == [
            command,
            or_no(shell_command(argv_of("claude"))),
        ]
        claude.uninstall()
        assert claude.text == text
        assert any(command in warning for warning in claude.uninstall().warnings)

    def test_of_more_than_us_in_toml(self, tmp_path):
        """The same in Vibe's file."""
        vibe = Folder(tmp_path, "vibe")
        vibe.write(text := '[[hooks]]\nname = "a"\ntype = "pre_tool"\ncommand = "./audit.sh; dshhooks handle"\n')
        vibe.install()
        vibe.uninstall()
        assert vibe.text == text

    def test_of_a_toml_entry(self, tmp_path):
        """The command of the table changes; what somebody added to it stays."""
        vibe = Folder(tmp_path, "vibe")
        vibe.install()
        mine = argv_of("vibe")[0]
        vibe.write(vibe.text.replace(mine, "/old/python").replace("strict = true", "strict = true\nmatch = 'bash'"))
        assert vibe.install().changed
        hook = tomllib.loads(vibe.text)["hooks"][0]
        assert (hook["command"], hook["match"]) == (shell_command(argv_of("vibe")), "bash")

    def test_events_that_are_not_named_go(self, claude):
        """`--events` says which ones there are, not which ones there are more."""
        claude.install()
        assert claude.install(events="PreToolUse,Stop").events == ("PreToolUse", "Stop")
        assert json.loads(claude.text)["hooks"].keys() == {"PreToolUse", "Stop"}


class TestPlaces:
    def test_a_link_that_leads_nowhere_stays_one(self, claude, tmp_path):
        """What was made where it leads to is removed again, with our entries in it."""
        target = tmp_path / "dotfiles.json"
        claude.file.parent.mkdir()
        claude.file.symlink_to(target)
        claude.install()
        assert "lean.py" in target.read_text(encoding="utf-8")
        claude.uninstall()
        assert claude.file.is_symlink()
        assert not target.exists()

    def test_a_link_stays_a_link(self, claude, tmp_path):
        """What it leads to is changed."""
        real = tmp_path / "dotfiles" / "claude.json"
        real.parent.mkdir()
        real.write_text(RICH)
        claude.file.parent.mkdir()
        claude.file.symlink_to(real)
        before = snapshot(tmp_path)
        claude.install()
        assert claude.file.is_symlink()
        assert "lean.py" in real.read_text()
        claude.uninstall()
        assert claude.file.is_symlink()
        assert snapshot(tmp_path) == before

    @pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
    def test_the_mode_stays(self, claude, mode):
        """Who may read and write it is not ours to decide."""
        claude.write(RICH, mode=mode)
        claude.install()
        assert claude.file.stat().st_mode & 0o777 == mode

    @pytest.mark.parametrize("client", CLIENTS)
    def test_of_a_user(self, client, tmp_path, monkeypatch):
        """The user's file is in the home folder, and comes and goes like the project's."""
        monkeypatch.setenv("HOME", str(tmp_path))
        place = installation(client, "user", environ={}).place
        assert place.path == tmp_path / CLIENTS[client].user_file

    @pytest.mark.parametrize(
        ("client", "variable", "path"),
        [
            ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
            ("codex", "CODEX_HOME", "hooks.json"),
            ("copilot", "COPILOT_HOME", "hooks/dshhooks.json"),
            ("vibe", "VIBE_HOME", "hooks.toml"),
            ("openhands", "OH_PERSISTENCE_DIR", "hooks.json"),
            ("opencode", "XDG_CONFIG_HOME", "opencode/plugin/dshhooks.js"),
        ],
    )
    def test_a_variable_moves_the_users_folder(self, client, variable, path, tmp_path):
        """As it moves it for the client."""
        assert installation(client, "user", environ={variable: str(tmp_path)}).place.path == tmp_path / path


class TestRefusal:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (b'{"a": 1', "is not JSON: .* line 1, column 8"),
            (b"[]", "is no JSON object"),
            (b'{"hooks": []}', "else than an object at hooks"),
            (b'{"hooks": {"PreToolUse": {}}}', "else than a list at PreToolUse"),
            (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        ],
    )
    def test_of_a_file_that_is_not_understood(self, claude, text, told):
        """The message names the file; no byte of it is changed and nothing is left beside it."""
        claude.write(text)
        before = snapshot(claude.root)
        with pytest.raises(SettingsError, match=told) as caught:
            claude.install()
        assert str(claude.file) in caught.value.message
        assert snapshot(claude.root) == before

    @pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
    def test_of_a_folder_that_cannot_be_written(self, claude):
        """An error, not a traceback."""
        claude.root.chmod(0o500)
        with pytest.raises(SettingsError, match="cannot be changed"):
            claude.install()
        claude.root.chmod(0o700)

    def test_of_what_is_no_file(self, claude):
        """Reading a pipe would wait for ever."""
        claude.file.parent.mkdir()
        os.mkfifo(claude.file)
        with pytest.raises(SettingsError, match="no file"):
            claude.install()

    def test_of_a_file_where_the_folder_should_be(self, claude):
        """Said, and nothing is left of the try."""
        claude.file.parent.write_text("mine")
        with pytest.raises(SettingsError, match=r"settings\.json"):
            claude.install()
        assert snapshot(claude.root).keys() == {".claude"}

    def test_of_a_script_somebody_else_wrote(self, tmp_path):
        """opencode's plugin of that name is not ours to replace or to remove."""
        folder = Folder(tmp_path, "opencode")
        folder.write("export const Mine = async () => ({})\n")
        with pytest.raises(SettingsError, match="not made by dshhooks"):
            folder.install()
        assert not folder.uninstall().changed

    def test_of_unknown_names(self):
        """With what was probably meant."""
        with pytest.raises(HarnessError, match="did you mean 'gemini'"):
            installation("gemeni")
        with pytest.raises(HarnessError, match="did you mean 'BeforeTool'"):
            installation("gemini", events="BeforTool")
        with pytest.raises(HarnessError, match="names no event"):
            installation("gemini", events=" , ")

    def test_nothing_is_left_of_a_failed_try(self, claude, monkeypatch):
        """Folders that were made for it are gone again."""

        def full(_source, _target):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", full)
        with pytest.raises(SettingsError, match="No space left"):
            claude.install()
        assert snapshot(claude.root) == {}

    def test_nothing_is_kept_of_a_failed_try(self, claude, monkeypatch):
        """A file that cannot be replaced is what it was, with no copy of it beside it."""
        replace = os.replace

        def immutable(source, target):
            if os.fspath(target) == str(claude.file):
                raise PermissionError(1, "Operation not permitted")
            replace(source, target)

        claude.write(RICH)
        before = snapshot(claude.root)
        monkeypatch.setattr(os, "replace", immutable)
        with pytest.raises(SettingsError, match="not permitted"):
            claude.install()
        assert snapshot(claude.root) == before


def test_a_preview_changes_nothing(folder):
    """It is the very file that would be written."""
    text, _ = preview(folder.wanted())
    assert snapshot(folder.root) == {}
    folder.install()
    assert folder.text == text


@pytest.mark.parametrize("text", [None, RICH], ids=["new", "rich"])
def test_many_at_once_are_one(claude, text):
    """However many install at the same time, each event has one entry of ours and the original is kept."""
    if text is not None:
        claude.write(text)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: claude.install(), range(24)))
    assert claude.text.count("lean.py") == len(claude.wanted().events)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: claude.uninstall(), range(24)))
    assert (claude.text if text else snapshot(claude.root)) == (text or {})
