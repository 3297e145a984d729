"""What the model reads of each tool's value: text with the facts in brackets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["bash_text", "list_text", "read_text", "write_text"]


def bash_text(value: Mapping[str, Any]) -> str:
    """Show both streams, then how the command ended unless it simply succeeded."""
    parts = [value["stdout"].rstrip("\n")] if value["stdout"] else []
    if value["stderr"]:
        parts.append("[stderr]\n" + value["stderr"].rstrip("\n"))
    if value["timed_out"]:
        parts.append("[timed out and was ended]")
    if value["signal"] is not None:
        parts.append(f"[ended by {value['signal']}]")
    elif value["exit_code"] is None:
        parts.append("[did not end]")
    elif value["exit_code"] != 0:
        parts.append(f"[exit code {value['exit_code']}]")
    return "\n".join(parts) or "[no output]"


def read_text(value: Mapping[str, Any]) -> str:
    """Show the content as it is, then what the reader must know about it."""
    notes = []
    if value["lossy"]:
        notes.append("[not UTF-8: some bytes are shown as \ufffd; do not write this text back]")
    if value["truncated"]:
        notes.append(f"[the file goes on: read with offset={value['next_offset']}]")
    if not value["content"]:
        notes.append("[empty]" if value["size"] == 0 else f"[nothing at offset {value['offset']}]")
    return _with_notes(value["content"], notes)


def write_text(value: Mapping[str, Any]) -> str:
    """Confirm the write."""
    return f"wrote {value['bytes']} bytes to {value['path']}"


def list_text(value: Mapping[str, Any]) -> str:
    """Show one entry a line: folders end in ``/``, links in ``@``, files carry their size."""
    lines = [_entry_line(entry) for entry in value["entries"]]
    if not lines:
        lines.append("[nothing matches]")
    if value["truncated"]:
        lines.append("[incomplete: use a narrower path or pattern]")
    return "\n".join(lines)


def _entry_line(entry: Mapping[str, Any]) -> str:
    if entry["size"] is not None:
        return f"{entry['path']} ({entry['size']} bytes)"
    return str(entry["path"]) + {"directory": "/", "symlink": "@"}.get(entry["type"], "")


def _with_notes(text: str, notes: list[str]) -> str:
    if not notes:
        return text
    separator = "" if not text or text.endswith("\n") else "\n"
    return text + separator + "\n".join(notes)
