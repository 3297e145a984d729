"""Entry points are found, whoever else is broken, and nothing is imported."""

from __future__ import annotations

import logging
import sys

import pytest

from dshhooks.plugins.discovery import discover
from tests.plugins.kit import Site


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path to install into."""
    return Site(tmp_path / "site", monkeypatch)


def test_a_plugin_is_found_by_its_entry_point(site):
    """Name, distribution and version come from the distribution's metadata."""
    module = site.install("found-one", distribution="dist-one", version="1.2.3")
    found = discover()["found-one"]
    assert (found.distribution, found.version, found.entry_point.value) == ("dist-one", "1.2.3", f"{module}:Plugin")
    assert found.rivals == ()


def test_names_come_sorted(site):
    """Without a list, the order is the names' order and not that of the file system."""
    for name in ("zeta", "alpha", "mid"):
        site.install(name)
    assert list(site.found()) == ["alpha", "mid", "zeta"]
    assert list(discover()) == sorted(discover())


def test_discovering_imports_nothing(site):
    """A plugin's module is only imported when it is chosen."""
    module = site.install("lazy-one", "raise SystemExit('imported')")
    assert "lazy-one" in discover()
    assert module not in sys.modules


def test_other_groups_are_not_plugins(site):
    """Console scripts and pytest plugins stay what they are."""
    site.install("other", entry_points="[console_scripts]\nother-tool = x:y\n")
    assert "other" not in discover()
    assert "other-tool" not in discover()


def test_two_distributions_with_one_name_are_rivals(site):
    """Both are named, in order."""
    site.install("twice", distribution="dist-b")
    site.install("twice", distribution="dist-a")
    assert discover()["twice"].rivals == ("dist-a", "dist-b")


def test_one_distribution_with_a_name_twice_is_its_own_rival(site):
    """Different targets under one name: nobody can say which is meant."""
    module = site.install("self", entry_points="")
    site.distribution("dist-self", "1", f"[dshhooks]\nself = {module}:Plugin\nself = {module}:Other\n")
    assert discover()["self"].rivals == ("dist-self", "dist-self")


def test_the_same_distribution_on_two_paths_is_one(site, tmp_path, monkeypatch):
    """An editable install shadowing an installed one is no duplicate; the first on sys.path counts."""
    site.install("shadowed", distribution="dist-s", version="1.0")
    front = Site(tmp_path / "front", monkeypatch)
    front.install("shadowed", distribution="dist-s", version="2.0")
    found = discover()["shadowed"]
    assert (found.version, found.rivals) == ("2.0", ())


@pytest.mark.parametrize("name", ["with space", "größe", "a.b", "UPPER", "日本"])
def test_unusual_names_are_names(site, name):
    """A name is whatever the entry point says."""
    site.install(name)
    assert discover()[name].name == name


def test_metadata_without_a_version(site):
    """The plugin is there; its version is unknown."""
    site.install("no-version", version=None)
    assert discover()["no-version"].version == ""


def test_metadata_without_anything(site):
    """Even without metadata the plugin is there, and the report can say something."""
    site.install("no-metadata", entry_points="")
    info = site.distribution("dist-none", "1", "[dshhooks]\nno-metadata = x:y\n", metadata="")
    (info / "METADATA").unlink()
    found = discover()["no-metadata"]
    assert (found.distribution, found.version) == ("a distribution without a name", "")


def test_a_corrupt_distribution_does_not_hide_the_others(site, caplog):
    """A line without `=` makes importlib.metadata raise for everybody; only its owner is left out, and named."""
    site.install("healthy")
    info = site.distribution("dist-corrupt", "1", "[dshhooks]\nthis is no entry point\n")
    with caplog.at_level(logging.WARNING, "dshhooks"):
        found = discover()
    assert "healthy" in found
    assert str(info) in caplog.text


def test_beside_a_corrupt_distribution_the_first_path_still_counts(site, tmp_path, monkeypatch):
    """The careful way of looking keeps the rule of the quick one."""
    site.install("shadowed", distribution="dist-s", version="1.0")
    front = Site(tmp_path / "front", monkeypatch)
    front.install("shadowed", distribution="dist-s", version="2.0")
    front.distribution("dist-corrupt", "1", "[dshhooks]\nnonsense\n")
    found = discover()["shadowed"]
    assert (found.version, found.rivals) == ("2.0", ())
