"""Folders before and after, and what is installed in them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from dshhooks.clients.install import Result, installation, put_in, take_out
from dshhooks.clients.table import CLIENTS

__all__ = ["RICH", "Folder", "snapshot"]

# A settings file somebody cares for: comments nowhere, everything else.
RICH = """{
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": { "allow": ["Bash(ls:*)"],   "deny": [] },
    "hooks": {
        "PreToolUse": [
            { "matcher": "Bash", "hooks": [ { "type": "command", "command": "./guard.sh", "timeout": 5 } ] }
        ],
        "Notification": [
            {
                "hooks": [{"type": "command", "command": "say \\"done\\" é"}]
            }
        ]
    },
    "env": {"A": "1"}
}
"""


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Everything below a folder: mode, and the bytes of files."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.lstat().st_mode),
            path.read_bytes() if path.is_file() else None,
        )
        for path in sorted(folder.rglob("*"))
    }


class Folder:
    """A project, and one client's settings in it."""

    def __init__(self, root: Path, client: str = "claude") -> None:
        self.root, self.client = root, client
        self.file = root / CLIENTS[client].project_file
        self.backup = self.file.with_name(f"{self.file.name}.dshhooks-backup")

    def write(self, text: str | bytes, mode: int = 0o644) -> Path:
        """Write the settings as somebody else would have."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(text.encode() if isinstance(text, str) else text)
        self.file.chmod(mode)
        return self.file

    def wanted(self, **options: Any) -> Any:
        """What would be installed here."""
        return installation(self.client, cwd=self.root, environ={}, **options)

    def install(self, **options: Any) -> Result:
        """Install."""
        return put_in(self.wanted(**options))

    def uninstall(self) -> Result:
        """Uninstall."""
        return take_out(self.client, self.wanted().place)

    @property
    def text(self) -> str:
        """The settings now."""
        return self.file.read_text(encoding="utf-8")
