"""The generated pages: written, checked, and nothing else."""

from __future__ import annotations

import pytest

from dshhooks.clients.table import CLIENTS
from dshhooks.pages import PAGES, main


@pytest.fixture
def page(tmp_path):
    """Where the one page of a test goes."""
    return tmp_path / "docs" / "page.md"


def run(page, *arguments):
    """Run the command for a page that must say "new"."""
    return main(list(arguments), {page: lambda: "new"})


def test_writes_and_checks(page, capsys):
    """--write makes the page, folder included; --check then agrees."""
    assert run(page, "--write") == 0
    assert run(page, "--check") == 0
    assert "is current" in capsys.readouterr().out


@pytest.mark.parametrize("text", [None, "old"])
def test_check_says_what_to_do(page, text, capsys):
    """A missing or stale page is named with the command that makes it, and is not touched."""
    page.parent.mkdir()
    if text is not None:
        page.write_text(text)
    assert run(page, "--check") == 1
    assert "python -m dshhooks.pages --write" in capsys.readouterr().err
    assert (page.read_text() if page.exists() else None) == text


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--check", "--write"]])
def test_other_arguments_are_refused(page, arguments):
    """Anything else shows the usage and writes nothing."""
    assert run(page, *arguments) == 2
    assert not page.exists()


def test_every_page_is_checked_though_the_first_one_is_stale(tmp_path, capsys):
    """All stale pages are named at once."""
    stale = {tmp_path / name: lambda: "new" for name in ("a.md", "b.md")}
    assert main(["--check"], stale) == 1
    assert capsys.readouterr().err.count("is not what the code says") == 2


def test_the_pages_are_those_of_the_documentation():
    """One for the hooks, one for the dialects, one that compares the clients and one for each of them."""
    clients = ["overview.md", *(f"{name}.md" for name in CLIENTS)]
    assert [path.name for path in PAGES] == ["hooks.md", "dialects.md", *clients]
