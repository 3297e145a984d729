"""Which rule judges which program. Rule modules register themselves when the first of their programs is judged."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Union

from hookspecs.plain import Plain

from . import programs
from .patterns import later

if TYPE_CHECKING:
    from .invocation import Invocation
    from .values import Out

Judge = Callable[["Invocation"], Union["Out", None]]

_VERSIONED = later(
    r"(python|pip|perl|ruby|lua|luajit|php|node|nodejs|tclsh|wish|gcc|g\+\+|clang|clang\+\+|java|guile|erl|bash|zsh|ksh|irb|gem|easy_install|julia|R|pypy|npm|vim)"
    r"[-.]?\d[\d.]*(?:-[\d.]+)?(?:t|d|m)?"
)
_ALIASES = {
    "nodejs": "node",
    "gnused": "sed",
    "ggrep": "grep",
    "gfind": "find",
    "gxargs": "xargs",
    "gtar": "tar",
    "bsdtar": "tar",
    "gsort": "sort",
    "grm": "rm",
    "gcp": "cp",
    "gmv": "mv",
    "gdd": "dd",
    "genv": "env",
    "gtimeout": "timeout",
    "gsed": "sed",
    "gmake": "make",
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "original-awk": "awk",
    "fdfind": "fd",
    "batcat": "bat",
    "egrep": "grep",
    "fgrep": "grep",
    "pypy": "python",
    "py": "python",
    "podman": "docker",
    "nerdctl": "docker",
    "oc": "kubectl",
    "k": "kubectl",
    "tofu": "terraform",
    "terragrunt": "terraform",
    "mariadb": "mysql",
    "ncat": "nc",
    "netcat": "nc",
    "nvim": "vim",
    "vi": "vim",
    "view": "vim",
    "vimdiff": "vim",
    "gvim": "vim",
    "rvim": "vim",
    "valkey-cli": "redis-cli",
    "powershell": "pwsh",
    "mamba": "conda",
    "micromamba": "conda",
    "bunx": "npx",
    "pnpx": "npx",
    "httpie": "http",
    "https": "http",
    "xh": "http",
    "magick": "convert",
    "gcc": "gcc",
    "cc": "gcc",
    "g++": "gcc",
    "c++": "gcc",
    "clang++": "clang",
}


class Handler(Plain):
    """A rule: ``judge`` looks at the invocation; ``reads`` says that arguments may be paths the program reads."""

    judge: Judge
    reads: bool = True


_HOMES = {name: family for family, names in programs.FAMILIES.items() for name in names.split()}
_HANDLERS: dict[str, Handler] = {}


def program(*names: str, reads: bool = True) -> Callable[[Judge], Judge]:
    """Register the decorated function for the programs ``names``; one string may hold several, separated by blanks.

    Raises:
        ValueError: A name has another rule, or ``FAMILIES`` does not have it in this module: nobody would find it.
    """

    def register(judge: Judge) -> Judge:
        for name in " ".join(names).split():
            if judge.__module__ != f"{programs.__name__}.{_HOMES.get(name)}":
                raise ValueError(f"FAMILIES in programs/__init__.py does not have {name} in {judge.__module__}; add it")
            # The same one again is a module whose first import was broken off.
            if name in _HANDLERS and _HANDLERS[name].judge.__qualname__ != judge.__qualname__:
                raise ValueError(f"two rules for {name} in {judge.__module__}; one has to go")
            _HANDLERS[name] = Handler(judge, reads)
        return judge

    return register


def handler_for(name: str) -> Handler | None:
    """Return the rule of a program, or None when no rule knows it."""
    home = _HOMES.get(name)
    if home is None:
        return None
    import_module(f"{programs.__name__}.{home}")  # each time: while another thread imports it, half of it is there
    return _HANDLERS[name]


def known_programs() -> tuple[str, ...]:
    """Return every program a rule exists for."""
    return tuple(sorted(_HOMES))


def canonical_name(name: str) -> str:
    """Return the name rules are registered under: without version, ``.exe`` or a vendor's spelling."""
    if name.lower().endswith(".exe"):
        name = name[:-4]
    if name.startswith(("mkfs.", "newfs_", "fsck.")):
        name = "fsck" if name.startswith("fsck") else "mkfs"
    found = any(map(str.isdigit, name)) and _VERSIONED.fullmatch(name)
    if found:
        name = found.group(1)
    if name not in _HOMES and name.lower() in _HOMES:
        name = name.lower()  # file systems that ignore case run it
    return _ALIASES.get(name, name)
