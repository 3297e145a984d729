"""Allow, ask or deny shell commands by what they would run.

``classify`` is the pure core, ``ShellPolicy`` the plugin around it.
"""

from __future__ import annotations

from .decide import classify
from .options import ShellPolicyOptions
from .plugin import ShellPolicy

__all__ = ["ShellPolicy", "ShellPolicyOptions", "classify"]
