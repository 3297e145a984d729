"""Whether a daemon still stands for what is on disk."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest

import dshhooks.clients.door
from dshhooks.clients.request import Setting
from dshhooks.clients.watch import Watch


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a configuration."""
    (tmp_path / "dshhooks.toml").write_text("", encoding="utf-8")
    return tmp_path


def test_nothing_has_changed(project: Path) -> None:
    """A fresh watch finds everything as it was."""
    assert Watch(Setting(cwd=str(project))).changed() == ""


@pytest.mark.parametrize("name", ["dshhooks.toml", "pyproject.toml"])
def test_a_configuration_that_changes_or_appears(project: Path, name: str) -> None:
    """Written, it is named; that it was not there before is remembered like anything else."""
    watch = Watch(Setting(cwd=str(project)))
    (project / name).write_text("[plugins]\n", encoding="utf-8")
    assert watch.changed() == str(project / name)


def test_a_configuration_that_goes(project: Path) -> None:
    """Whatever counted instead is another configuration."""
    watch = Watch(Setting(cwd=str(project)))
    (project / "dshhooks.toml").unlink()
    assert watch.changed() == str(project / "dshhooks.toml")


def test_a_configuration_that_was_named(project: Path, tmp_path: Path) -> None:
    """--config counts as well, relative to the folder of the call."""
    (tmp_path / "other.toml").write_text("", encoding="utf-8")
    watch = Watch(Setting(cwd=str(project), config="other.toml"))
    (tmp_path / "other.toml").write_text("[plugins]\n", encoding="utf-8")
    assert watch.changed() == str(tmp_path / "other.toml")


def test_a_module_that_was_imported_later(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hook imports when it first needs it is watched from then on."""
    site = project / "site"
    (site / "__pycache__").mkdir(parents=True)
    module = site / "late_module_of_a_hook.py"
    module.write_text("", encoding="utf-8")
    os.utime(module, (1, 1))
    monkeypatch.syspath_prepend(str(site))
    watch = Watch(Setting(cwd=str(project)))
    importlib.import_module("late_module_of_a_hook")
    assert watch.changed() == ""
    module.write_text("pass\n", encoding="utf-8")
    assert watch.changed() == str(module)


def test_a_module_that_is_younger_than_the_daemon(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was written between the start and the first look: what was imported may be the older text."""
    site = project / "site"
    (site / "__pycache__").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(site))
    (site / "young_module_of_a_hook.py").touch()
    watch = Watch(Setting(cwd=str(project)))
    module = site / "young_module_of_a_hook.py"
    module.write_text("", encoding="utf-8")
    importlib.invalidate_caches()
    importlib.import_module("young_module_of_a_hook")
    assert watch.changed() == str(module)


def test_what_is_installed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that comes is a change of the folder it comes to."""
    site = project / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    watch = Watch(Setting(cwd=str(project)))
    (site / "new-1.0.dist-info").mkdir()
    assert watch.changed() == str(site)


def test_its_own_modules_count(project: Path) -> None:
    """dshhooks itself is installed anew sometimes, under the very same names."""
    watch = Watch(Setting(cwd=str(project)))
    assert dshhooks.clients.door.__file__ in watch.files
