"""The rules, one module per family; importing this package registers them all."""

from __future__ import annotations

from . import (
    builtins,
    cloud,
    containers,
    databases,
    files,
    find,
    git,
    interpreters,
    net,
    packages,
    shells,
    system,
    tools,
    wrappers,
)

__all__ = [
    "builtins",
    "cloud",
    "containers",
    "databases",
    "files",
    "find",
    "git",
    "interpreters",
    "net",
    "packages",
    "shells",
    "system",
    "tools",
    "wrappers",
]
