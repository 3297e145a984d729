"""Makefiles this command wrote: recipe lines are shell, ``$(shell ...)`` runs while the file is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..patterns import later
from ..values import Arg

if TYPE_CHECKING:
    from ..invocation import Invocation

_VARIABLE = later(r"\$[({][^()${}]*[)}]|\$[@<^?*+|%]")
_SHELL_CALL = later(r"\$[({]shell\s+((?:[^()]|\([^()]*\))*)[)}]|^\s*\w+\s*!=\s*(.*)$", re.MULTILINE)


def judge_makefile(inv: Invocation, code: Arg) -> None:
    """Judge the recipes of a makefile or of ``make --eval``."""
    text = code.text.replace("\\\n", " ")
    for first, second in _SHELL_CALL.findall(text):
        inv.script(first or second)
    for line in text.splitlines():
        recipe = (
            line[1:]
            if line.startswith("\t")
            else (line.split(";", 1)[1] if re.match(r"[^=#\t]*:[^=;]*;", line) else "")
        )
        recipe = recipe.strip().lstrip("@-+ ")
        if recipe and not recipe.startswith("#"):
            inv.script(_VARIABLE.sub("x", recipe).replace("$$", "$"))
