"""The generated pages of the documentation: ``python -m dshhooks.pages --write`` makes them, ``--check`` says whether
they are current."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import dshhooks.bridge.reference
import dshhooks.clients.reference
import dshhooks.reference

__all__ = ["PAGES", "main"]

PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    Path("docs/reference/hooks.md"): dshhooks.reference.render_reference,
    Path("docs/reference/dialects.md"): dshhooks.bridge.reference.render,
    **dshhooks.clients.reference.PAGES,
}


def main(argv: Sequence[str] | None = None, pages: Mapping[Path, Callable[[], str]] = PAGES) -> int:
    """Write the pages (``--write``) or say whether they are current (``--check``).

    Returns:
        0 when all is well, 1 when a page is missing or differs, 2 for other arguments.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments not in (["--write"], ["--check"]):
        sys.stderr.write("usage: python -m dshhooks.pages --check | --write\n")
        return 2
    step = _write if arguments == ["--write"] else _is_current
    return 0 if all([step(page, render()) for page, render in pages.items()]) else 1


def _write(page: Path, text: str) -> bool:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {page}\n")
    return True


def _is_current(page: Path, text: str) -> bool:
    if page.is_file() and page.read_text(encoding="utf-8") == text:
        sys.stdout.write(f"{page} is current\n")
        return True
    sys.stderr.write(f"{page} is not what the code says: run `python -m dshhooks.pages --write`\n")
    return False


if __name__ == "__main__":
    sys.exit(main())
