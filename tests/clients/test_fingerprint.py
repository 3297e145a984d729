"""The cached list of plugins: used while nothing it was made from has changed, and never after."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dshhooks.clients import fingerprint
from dshhooks.clients.fingerprint import Listed, PluginList
from dshhooks.clients.request import Setting

LIST = PluginList((Listed("a", "m:A", ("tools_guard",), {"x": 1}, False),), "strictest", "ask", "defaults")


@pytest.fixture
def setting(tmp_path, monkeypatch):
    """A setting whose lists are kept in this test's folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Setting(cwd=str(tmp_path))


@pytest.fixture
def watched(tmp_path):
    """A file a list was made from."""
    file = tmp_path / "plugin.py"
    file.write_text("a = 1\n", encoding="utf-8")
    return file


def keep(setting: Setting, *paths: Path) -> None:
    """Keep a list made from these files."""
    fingerprint.save(setting, LIST, fingerprint.facts_of(map(str, paths)))


def cached(setting: Setting) -> Path:
    """The file of the list."""
    return next((Path(os.environ["XDG_CACHE_HOME"]) / "dshhooks").iterdir())


def test_a_list_is_kept_and_read_again(setting, watched):
    """The same list, for its owner only."""
    keep(setting, watched)
    assert fingerprint.load(setting) == LIST
    assert cached(setting).stat().st_mode & 0o777 == 0o600


def test_no_list_is_none(setting):
    """Then everything is loaded."""
    assert fingerprint.load(setting) is None


def rewrite(file: Path) -> None:
    """The same size and modification time, other content."""
    times = file.stat()
    file.write_text("a = 2\n", encoding="utf-8")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [rewrite, Path.unlink, lambda file: file.chmod(0), lambda file: file.write_text("", encoding="utf-8")],
    ids=["rewritten", "gone", "unreadable", "emptied"],
)
def test_any_change_of_a_file_ends_a_list(setting, watched, change):
    """Also one that keeps size and modification time."""
    keep(setting, watched)
    change(watched)
    assert fingerprint.load(setting) is None


def test_a_file_that_appears_ends_a_list(setting, tmp_path):
    """A nearer configuration, say, which was noted as not being there."""
    keep(setting, tmp_path / "dshhooks.toml")
    assert fingerprint.load(setting) == LIST
    (tmp_path / "dshhooks.toml").write_text("", encoding="utf-8")
    assert fingerprint.load(setting) is None


@pytest.mark.parametrize(
    "changes",
    [{"cwd": "/"}, {"plugins": "a"}, {"disable": "a"}, {"no_plugins": True}, {"config": "c"},
     {"environment": {"DSHHOOKS_DISABLE": "a"}}],
    ids=str,
)  # fmt: skip
def test_another_setting_has_another_list(setting, watched, changes):
    """Whatever chooses plugins is part of what a list belongs to."""
    keep(setting, watched)
    assert fingerprint.load(setting.replaced(**changes)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"form": 1}', '{"form": 99}', "\ud800"])
def test_a_damaged_list_is_none(setting, watched, text):
    """It is made again."""
    keep(setting, watched)
    cached(setting).write_text(text, encoding="utf-8", errors="surrogatepass")
    assert fingerprint.load(setting) is None


def test_a_list_of_somebody_elses_key_is_none(setting, watched):
    """The name of the file only spreads; two settings may share one."""
    keep(setting, watched)
    document = json.loads(cached(setting).read_text(encoding="utf-8"))
    document["key"][0] = "another version"
    cached(setting).write_text(json.dumps(document), encoding="utf-8")
    assert fingerprint.load(setting) is None


def test_what_cannot_be_kept_is_not(setting, watched, tmp_path):
    """No folder, or options that have no JSON: the next event takes longer, and that is all."""
    (tmp_path / "cache").write_text("", encoding="utf-8")
    keep(setting, watched)
    assert fingerprint.load(setting) is None


def test_the_oldest_lists_go(setting, watched):
    """There is one for each folder somebody ever worked in."""
    for number in range(70):
        keep(setting.replaced(cwd=f"/{number}"), watched)
    assert len(list(cached(setting).parent.iterdir())) == 64
    assert fingerprint.load(setting.replaced(cwd="/69")) == LIST


def test_every_configuration_file_that_might_count_is_watched(tmp_path):
    """From the folder up to the root; a named one alone."""
    found = fingerprint.config_files(Setting(cwd=str(tmp_path)))
    assert str(tmp_path / "dshhooks.toml") in found
    assert "/pyproject.toml" in found
    assert fingerprint.config_files(Setting(config="c.toml", cwd="/w")) == ["/w/c.toml"]
    assert fingerprint.config_files(Setting(cwd="/w", environment={"DSHHOOKS_CONFIG": "/d"})) == ["/d"]
