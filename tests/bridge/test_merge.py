"""Files on disk: where they are looked for, what is wrong with them, and what they say together."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from pathlib import Path
from typing import ClassVar

import pytest

from dshhooks.bridge.dialects import LAYOUT
from dshhooks.bridge.discovery import CONFIG_VARIABLE, HOME_VARIABLE, candidates, guess_dialect, home_directory
from dshhooks.bridge.jsonfile import Report
from dshhooks.bridge.merge import load
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.runtime import HookRuntime
from tests.bridge.kit import commands, found, group, home_and_project, open_file, write

NATIVE = {"version": 1, "events": {"turn:stop": [group("native")]}}


def claude(name: str, **members: object) -> dict[str, object]:
    """Settings with one hook."""
    return {"hooks": {"Stop": [group(name)]}, **members}


def socket_at(path: Path) -> None:
    """Leave a socket nobody listens at; an address is limited to about 100 bytes, however deep the folders are."""
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)


def everywhere() -> dict[str, object]:
    """A file at every place, with one hook each, named by its place."""
    files: dict[str, object] = {}
    for place in LAYOUT:
        name = f"{'home' if place.scope == 'user' else 'project'}/{place.path}"
        key = "events" if place.dialect == "native" else "hooks"
        files[name] = {"version": 1, key: {"turn:stop": [group(name)]}}
    return files


class TestDiscovery:
    """Nine places, in order."""

    def test_the_order_of_the_places(self, tmp_path):
        """Case 51: user before project before local, in the documented order; groups are appended."""
        files = everywhere()
        configuration = home_and_project(tmp_path, files)
        assert [source.file for source in configuration.sources] == [str(tmp_path / name) for name in files]
        assert [source.scope for source in configuration.sources] == ["user"] * 4 + ["project"] * 4 + ["local"]
        assert [source.dialect for source in configuration.sources[:4]] == ["claude", "codex", "opencode", "native"]
        assert commands(configuration, "Stop") == list(files)
        assert configuration.diagnostics == ()

    def test_the_places_are_the_documented_ones(self):
        """Case 51: these nine, whatever the table says."""
        assert [(place.scope, place.path) for place in LAYOUT] == [
            ("user", ".claude/settings.json"), ("user", ".codex/hooks.json"),
            ("user", ".config/opencode/opencode.json"), ("user", ".config/dshhooks/hooks.json"),
            ("project", ".claude/settings.json"), ("project", ".codex/hooks.json"), ("project", "opencode.json"),
            ("project", ".dsh-hooks.json"), ("local", ".claude/settings.local.json"),
        ]  # fmt: skip

    def test_ids_differ_between_scopes(self, tmp_path):
        """Case 43: the same file at home and in the project has hooks with other ids; all ids are unique."""
        configuration = home_and_project(tmp_path, everywhere())
        ids = [hook.id for made in configuration.groups for hook in made.hooks]
        assert len(set(ids)) == len(ids) == 9
        assert "claude:user:.claude/settings.json:turn:stop:0:0" in ids
        assert "claude:project:.claude/settings.json:turn:stop:0:0" in ids

    def test_home_is_the_project(self, tmp_path):
        """Case 52: a file that is reached twice loads once, at its first place."""
        write(tmp_path / ".claude/settings.json", claude("a"))
        options = BridgeOptions(home=tmp_path, cwd=tmp_path)
        configuration = load(options, environ={})
        assert [source.scope for source in configuration.sources] == ["user"]
        assert commands(configuration, "Stop") == ["a"]

    def test_a_link_to_the_same_file(self, tmp_path):
        """The real path counts."""
        write(tmp_path / "home/.claude/settings.json", claude("a"))
        (tmp_path / "project/.claude").mkdir(parents=True)
        (tmp_path / "project/.claude/settings.json").symlink_to(tmp_path / "home/.claude/settings.json")
        assert commands(home_and_project(tmp_path, {}), "Stop") == ["a"]

    def test_missing_files_are_silent(self, tmp_path):
        """Nobody has all of them."""
        configuration = home_and_project(tmp_path, {})
        assert (configuration.sources, configuration.diagnostics, configuration.enabled) == ((), (), True)

    def test_discovery_can_be_off(self, tmp_path):
        """Then nothing is looked for."""
        assert home_and_project(tmp_path, everywhere(), discover=False).sources == ()

    def test_no_home(self, monkeypatch):
        """Without any home directory user files are left out with a warning, and nothing crashes."""
        import pwd

        def nobody(_uid: int) -> object:
            raise KeyError("nobody")

        monkeypatch.setattr(pwd, "getpwuid", nobody)
        report = Report("")
        places = candidates(BridgeOptions(cwd="/nowhere"), report, {"HOME": ""})
        assert {place.scope for place in places} == {"project", "local"}
        assert found(report.diagnostics) == [("warning", "home-unknown", "")]

    def test_which_home(self):
        """The option, our variable, HOME, then the password database."""
        environ = {HOME_VARIABLE: "/ours", "HOME": "/theirs"}
        assert home_directory(BridgeOptions(home="/option"), environ) == Path("/option")
        assert home_directory(BridgeOptions(), environ) == Path("/ours")
        assert home_directory(BridgeOptions(), {"HOME": "/theirs"}) == Path("/theirs")
        assert home_directory(BridgeOptions(), {}) is not None


class TestPinned:
    """One file instead of all places."""

    def test_the_option_beats_the_variable(self, tmp_path):
        """Case 55: only the option's file loads."""
        option = write(tmp_path / "a/settings.json", claude("option"))
        variable = write(tmp_path / "b/settings.json", claude("variable"))
        files = {"home/.claude/settings.json": claude("home")}
        for name, data in files.items():
            write(tmp_path / name, data)
        environ = {CONFIG_VARIABLE: str(variable)}
        both = load(BridgeOptions(config_path=option, home=tmp_path / "home", cwd=tmp_path), environ=environ)
        assert commands(both, "Stop") == ["option"]
        only = load(BridgeOptions(home=tmp_path / "home", cwd=tmp_path), environ=environ)
        assert commands(only, "Stop") == ["variable"]

    def test_it_must_exist(self, tmp_path):
        """Case 56: a missing one is an error, unlike a place nobody has filled."""
        configuration = load(BridgeOptions(config_path=tmp_path / "no.json"), environ={})
        assert found(configuration.diagnostics) == [("error", "file-missing", "")]
        assert [(source.scope, source.loaded) for source in configuration.sources] == [("pinned", False)]

    def test_it_is_trusted(self, tmp_path):
        """Whoever names a file means it."""
        configuration = open_file(tmp_path / "settings.json", claude("a"), trust=lambda _source: False)
        assert commands(configuration, "Stop") == ["a"]

    @pytest.mark.parametrize(
        ("path", "data", "dialect"),
        [
            ("settings.json", {}, "claude"), ("settings.local.json", {}, "claude"), ("x.json", {}, "claude"),
            ("hooks.json", {}, "codex"), (".codex/hooks.json", {}, "codex"), ("plugin/hooks/hooks.json", {}, "claude"),
            ("opencode.json", {}, "opencode"), ("opencode.jsonc", {}, "opencode"), (".dsh-hooks.json", {}, "native"),
            ("dsh-hooks.json", {}, "native"), ("hooks.json", NATIVE, "native"), ("x.json", NATIVE, "native"),
            ("hooks.json", {"events": {}}, "codex"), ("x.json", [], "claude"),
        ],
    )  # fmt: skip
    def test_whose_format(self, path, data, dialect):
        """Case 60: name, folder and content tell; a plugin's hooks/hooks.json is Claude's, not Codex's."""
        assert guess_dialect(Path(path), data) == dialect

    def test_a_plugins_file(self, tmp_path):
        """Case 60: its matchers are read as Claude's."""
        data = {"hooks": {"PreToolUse": [group("a", matcher="Bash, Edit")]}}
        configuration = open_file(tmp_path / "hooks/hooks.json", data)
        assert configuration.sources[0].dialect == "claude"
        assert commands(configuration, "PreToolUse", subject="Edit") == ["a"]

    def test_the_dialect_can_be_said(self, tmp_path):
        """An explicit dialect wins over the guess."""
        assert open_file(tmp_path / "settings.json", {"hooks": {}}, dialect="codex").sources[0].dialect == "codex"

    def test_profiles(self, tmp_path):
        """A file is read in `current` unless asked otherwise; native ones always in `seed`."""
        for asked, expected in ((None, "current"), ("current", "current"), ("seed", "seed")):
            assert open_file(tmp_path / "opencode.json", claude("a"), profile=asked).sources[0].profile == expected
            assert open_file(tmp_path / ".dsh-hooks.json", NATIVE, profile=asked).sources[0].profile == "seed"

    def test_a_profile_for_matchers(self, tmp_path):
        """Matchers alone can be read in another profile."""
        data = {"hooks": {"PreToolUse": [group("a", matcher="Edit.*")]}}
        configuration = open_file(tmp_path / "settings.json", data, matcher_profile="seed")
        assert commands(configuration, "PreToolUse", subject="EditX") == []
        configuration = open_file(tmp_path / "settings.json", data, profile="seed", matcher_profile="current")
        assert commands(configuration, "PreToolUse", subject="EditX") == ["a"]


class TestBroken:
    """Files that cannot be read cost only themselves."""

    def around(self, tmp_path: Path, data: object) -> object:
        """A good file at home, and a project file with this content."""
        files = {"home/.claude/settings.json": claude("good"), "project/.claude/settings.json": data}
        return home_and_project(tmp_path, files)

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            ("{", "json-invalid"), ("", "json-invalid"), ("{} {}", "json-invalid"), ('{"a":1,}', "json-invalid"),
            ('// x\n{"hooks":{}}', "json-invalid"), (b'{"a":"\xe9"}', "file-encoding"), ("[]", "root-not-object"),
            ('{"a":' + "9" * 5000 + "}", "json-invalid"), ("[" * 100_000, "json-invalid"),
            ('{"hooks":[]}', "root-key-not-object"),
        ],
    )  # fmt: skip
    def test_one_error_and_the_others_run(self, tmp_path, data, code):
        """Cases 46, 57: an error with the path of the file; the other file's hooks run."""
        configuration = self.around(tmp_path, data)
        assert [(note.level, note.code) for note in configuration.diagnostics] == [("error", code)]
        assert configuration.diagnostics[0].source == str(tmp_path / "project/.claude/settings.json")
        assert commands(configuration, "Stop") == ["good"]
        assert [source.loaded for source in configuration.sources] == [True, False]

    def test_where_the_json_is_wrong(self, tmp_path):
        """The message has line and column."""
        configuration = open_file(tmp_path / "settings.json", '{\n  "hooks": }')
        assert "line 2, column 12" in configuration.diagnostics[0].message

    def test_a_directory(self, tmp_path):
        """A directory of that name is an error, not a crash."""
        (tmp_path / "project/.claude/settings.json").mkdir(parents=True)
        configuration = home_and_project(tmp_path, {"home/.claude/settings.json": claude("good")})
        assert found(configuration.diagnostics) == [("error", "file-unreadable", "")]
        assert commands(configuration, "Stop") == ["good"]

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
    def test_a_link_to_a_device(self, tmp_path, device):
        """A checkout may hold a link to something that never ends."""
        (tmp_path / "settings.json").symlink_to(device)
        configuration = load(BridgeOptions(config_path=tmp_path / "settings.json"), environ={})
        assert found(configuration.diagnostics) == [("error", "file-unreadable", "")]

    @pytest.mark.parametrize(("make", "what"), [(os.mkfifo, "a named pipe"), (socket_at, "a socket")])
    def test_something_else_in_a_project(self, tmp_path, make, what):
        """A checkout's pipe would hang whoever opens it: it is named and not opened; the other files load."""
        place = tmp_path / "project" / ".claude" / "settings.json"
        place.parent.mkdir(parents=True)
        make(place)
        configuration = home_and_project(tmp_path, {"home/.claude/settings.json": claude("good")})
        (note,) = configuration.diagnostics
        assert (note.level, note.code, note.source) == ("error", "file-unreadable", str(place))
        assert what in note.message
        assert commands(configuration, "Stop") == ["good"]

    def test_a_link_to_a_file(self, tmp_path):
        """Is that file."""
        real = write(tmp_path / "elsewhere.json", claude("a"))
        place = tmp_path / "project" / ".claude" / "settings.json"
        place.parent.mkdir(parents=True)
        place.symlink_to(real)
        assert commands(home_and_project(tmp_path, {}), "Stop") == ["a"]

    def test_a_named_pipe(self, tmp_path):
        """Whoever names a pipe gets what it says: once, and the same when files are read again."""
        os.mkfifo(tmp_path / "settings.json")
        writer = threading.Thread(target=write, args=(tmp_path / "settings.json", claude("a")))
        writer.start()
        made = HookRuntime(BridgeOptions(config_path=tmp_path / "settings.json", home=tmp_path))
        writer.join()
        assert commands(made.configuration, "Stop") == ["a"]
        assert made.reload() == []
        assert commands(made.configuration, "Stop") == ["a"]

    def test_a_shells_pipe(self, tmp_path):
        """`--config <(...)` is a file of that kind."""
        reader, writer = os.pipe()
        os.write(writer, json.dumps(claude("a")).encode())
        os.close(writer)
        try:
            configuration = load(BridgeOptions(config_path=f"/dev/fd/{reader}", dialect="claude"), environ={})
        finally:
            os.close(reader)
        assert commands(configuration, "Stop") == ["a"]

    def test_a_huge_file(self, tmp_path):
        """More than anybody writes is not read."""
        path = tmp_path / "settings.json"
        with path.open("wb") as file:
            file.truncate(1 << 30)
        assert "bytes" in load(BridgeOptions(config_path=path), environ={}).diagnostics[0].message

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_no_permission(self, tmp_path):
        """A file nobody may read is an error."""
        path = write(tmp_path / "settings.json", claude("a"))
        path.chmod(0)
        assert found(load(BridgeOptions(config_path=path), environ={}).diagnostics) == [
            ("error", "file-unreadable", "")
        ]

    def test_a_file_where_a_folder_should_be(self, tmp_path):
        """Then there is nothing at that place."""
        write(tmp_path / "project/.claude", "x")
        assert home_and_project(tmp_path, {}).diagnostics == ()

    def test_a_mark_in_front(self, tmp_path):
        """Case 45: a file with a byte-order mark loads."""
        data = b"\xef\xbb\xbf" + json.dumps(claude("a")).encode()
        assert commands(open_file(tmp_path / "settings.json", data), "Stop") == ["a"]

    def test_comments_where_they_may_be(self, tmp_path):
        """A .jsonc file may have comments and trailing commas; positions of errors stay right."""
        text = (
            '{ // one\n "hooks": { /* two\n lines */ "session.idle": [{"hooks": [{"command": "echo a // , }"},]}], },}'
        )
        assert commands(open_file(tmp_path / "opencode.jsonc", text), "Stop") == ["a // , }"]
        configuration = open_file(tmp_path / "opencode.jsonc", '/* a\n b */\n{"hooks": }')
        assert "line 3, column 11" in configuration.diagnostics[0].message
        configuration = open_file(tmp_path / "opencode.json", '{"hooks": {},}')
        assert configuration.diagnostics[0].hint == "JSON has no comments and no trailing commas"


class TestSwitch:
    """disableAllHooks."""

    def test_the_most_specific_file_decides(self, tmp_path):
        """Case 53: a local false switches on what the user switched off."""
        configuration = home_and_project(tmp_path, {
            "home/.claude/settings.json": claude("a", disableAllHooks=True),
            "project/.claude/settings.local.json": {"disableAllHooks": False},
        })  # fmt: skip
        assert (configuration.enabled, commands(configuration, "Stop")) == (True, ["a"])

    def test_everything_is_off(self, tmp_path):
        """Case 54: nothing is active, and the sources are still listed."""
        configuration = home_and_project(tmp_path, {
            "home/.claude/settings.json": claude("a"),
            "project/.claude/settings.local.json": {"disableAllHooks": True},
        })  # fmt: skip
        document = configuration.as_json()
        assert (document["enabled"], document["groups"], len(document["sources"])) == (False, [], 2)
        assert commands(configuration, "Stop") == []
        assert len(configuration.configured) == 1

    @pytest.mark.parametrize("value", ["true", 1, [], {}])
    def test_it_must_be_a_boolean(self, tmp_path, value):
        """Another value is an error and ignored."""
        configuration = open_file(tmp_path / "settings.json", claude("a", disableAllHooks=value))
        assert found(configuration.diagnostics) == [("error", "field-invalid", "/disableAllHooks")]
        assert configuration.enabled


class TestTrust:
    """What comes with a checkout runs only when somebody agreed."""

    FILES: ClassVar = {
        "home/.claude/settings.json": claude("home"),
        "project/.claude/settings.json": claude("project", disableAllHooks=True),
        "project/.claude/settings.local.json": claude("local"),
    }  # fmt: skip

    def test_nobody_agreed(self, tmp_path):
        """Untrusted files are listed and reported; they neither run nor switch anything off."""
        configuration = home_and_project(tmp_path, self.FILES, trust=None)
        assert commands(configuration, "Stop") == ["home"]
        assert configuration.enabled
        assert [source.trusted for source in configuration.sources] == [True, False, False]
        assert found(configuration.diagnostics) == [("warning", "file-untrusted", "")] * 2
        assert "bridge trust" in str(configuration.diagnostics[0].hint)

    def test_the_callback_is_asked_with_the_digest(self, tmp_path):
        """It sees the file and a hash of its content, and decides file by file."""
        asked = []

        def trust(source: object) -> bool:
            asked.append(source)
            return source.scope == "local"  # type: ignore[attr-defined]

        configuration = home_and_project(tmp_path, self.FILES, trust=trust)
        assert commands(configuration, "Stop") == ["home", "local"]
        assert [source.scope for source in asked] == ["project", "local"]
        assert all(len(source.digest) == 64 for source in asked)
        assert configuration.groups[1].hooks[0].source.trusted

    def test_the_option_stands_above_the_store(self, tmp_path):
        """The caller's callback wins over what the runtime would ask."""
        for name, data in self.FILES.items():
            write(tmp_path / name, data)
        options = BridgeOptions(home=tmp_path / "home", cwd=tmp_path / "project", trust=lambda _source: False)
        assert commands(load(options, trusted=lambda _source: True, environ={}), "Stop") == ["home"]
        without = BridgeOptions(home=tmp_path / "home", cwd=tmp_path / "project")
        assert load(without, trusted=lambda _source: True, environ={}).enabled is False

    def test_a_file_that_does_nothing_needs_no_trust(self, tmp_path):
        """Nobody is asked about settings without hooks."""
        configuration = home_and_project(tmp_path, {"project/.claude/settings.json": {"model": "x"}}, trust=None)
        assert found(configuration.diagnostics) == [("info", "root-key-missing", "")]
        assert configuration.sources[0].trusted


def test_dump(tmp_path):
    """The form on the wire has the active groups, and no environment, headers or prompts."""
    data = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"command": "run", "args": ["a"], "timeout": 3, "env": {"K": "secret"}, "async": True, "once": True},
        {"type": "http", "url": "http://h/", "headers": {"A": "secret"}, "onError": "block"},
    ]}]}}  # fmt: skip
    document = open_file(tmp_path / "settings.json", data).as_json()
    assert "secret" not in json.dumps(document)
    file = str(tmp_path / "settings.json")
    (made,) = document["groups"]
    assert {name: made[name] for name in ("event", "spelling", "dialect", "source", "matcher")} == {
        "event": "tool:before", "spelling": "PreToolUse", "dialect": "claude", "source": file, "matcher": "Bash",
    }  # fmt: skip
    assert made["hooks"][0] == {
        "id": f"claude:pinned:{file}:PreToolUse:0:0", "kind": "shell", "command": "run", "args": ["a"], "timeout": 3.0,
        "async": True, "once": True,
    }  # fmt: skip
    assert made["hooks"][1]["onError"] == "block"
    assert document["sources"] == [
        {"file": file, "dialect": "claude", "profile": "current", "scope": "pinned", "loaded": True, "trusted": True}
    ]
