"""Reads the corpus files: ``[kind]`` headers, one command a line, several lines between ``<<<`` and ``>>>``."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent


def load(name: str) -> list[tuple[str, str]]:
    """Return (kind, command) pairs of one file."""
    kind = ""
    found: list[tuple[str, str]] = []
    block: list[str] | None = None
    for line in (HERE / name).read_text(encoding="utf-8").split("\n"):
        if block is not None:
            if line == ">>>":
                found.append((kind, "\n".join(block)))
                block = None
            else:
                block.append(line)
        elif line == "<<<":
            block = []
        elif line.startswith("[") and line.endswith("]") and not line.startswith("[ "):
            kind = line[1:-1]
        elif line.strip() and not line.startswith(";"):
            found.append((kind, line))
    return found
