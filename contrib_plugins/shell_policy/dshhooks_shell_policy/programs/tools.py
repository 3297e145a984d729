"""The judge of the tool table, compilers and builds."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Arg, Out
from .archives import unpacked
from .tool_table import HELPERS, TOOLS, Tool


def _judge(tool: Tool) -> Callable[[Invocation], Out | None]:
    asks = later(tool.asks) if tool.asks else None

    def judge(inv: Invocation) -> Out | None:
        p = inv.options(
            tool.values,
            (*tool.long_values, *tool.runs, *tool.writes),
            single_dash=any(v.startswith("-") and not v.startswith("--") and len(v) > 2 for v in tool.long_values)
            and inv.name in ("openssl",),
        )
        for value in p.values(*tool.runs) if tool.runs else ():
            if not HELPERS.match(value.text):
                inv.ask("runs a program: " + value.text.replace(UNKNOWN, "…")[:80])
                inv.script(value)
        for value in p.values(*tool.writes) if tool.writes else ():
            inv.write(value, _produced(inv))
        inv.read_all(p.values(*tool.reads) if tool.reads else ())
        if tool.write_operand is not None and len(p.operands) > abs(tool.write_operand):
            inv.write(p.operands[tool.write_operand], None)
        if (
            inv.name == "openssl"
            and inv.texts[:1]
            and inv.texts[0] not in ("x509", "verify", "crl", "asn1parse", "s_client", "req", "dgst")
        ):
            inv.read_all(p.values("-in"))
        if asks is not None and any(asks.fullmatch(text) for text in inv.texts):
            inv.ask(tool.reason)
        if inv.name == "openssl" and inv.texts[:1] == ["s_client"]:
            if inv.stdin.tags or inv.stdin.text:
                inv.ask("sends its input to another machine")
            return Out(None, frozenset({"net"}))
        if inv.name in ("cmake", "ninja", "meson") and any(v.text.startswith("/tmp/") for v in p.values("-P", "-f")):
            inv.ask("runs a script from a temporary directory")
        if inv.name == "cmake" and inv.texts[:1] == ["-E"] and len(inv.args) > 1:
            inv.run(inv.args[1:])
        if inv.name in ("pylint", "flake8"):
            for value in p.values("--init-hook"):
                inv.code("python", value)
        if inv.name == "pytest" and any(value.text.startswith("/tmp") for value in p.values("-c")):
            inv.ask("takes settings from a temporary directory")
        if inv.name in ("gcc", "clang", "rustc"):
            produced = _produced(inv)
            if not p.has("-o", "-c", "-S", "-E"):
                inv.engine.remember(Arg("a.out"), inv.state, produced)
        if inv.name in ("gcc", "clang") and "-" in inv.texts:
            inv.code("c", Arg(inv.stdin.text, inv.stdin.tags)) if inv.stdin.text is not None else inv.ask(
                "compiles what is not known"
            )
        if inv.name in ("split", "csplit") or (
            inv.name in _UNPACKERS and _UNPACKERS[inv.name].search(" ".join(inv.texts))
        ):
            inv.state.unpacked |= {("archive", ".")}
        if inv.name == "unzip":
            unpacked(inv, [a.text for a in p.values("-d")], p.operands[:1])
        return inv.stdin.derived("file")

    return judge


_UNPACKERS = {
    **dict.fromkeys(("7z", "7za", "7zz", "unrar", "rar", "ar"), later(r"^-?[xe]")),
    "cpio": later(r"-\w*i|--extract"),
}


def _produced(inv: Invocation) -> Out:
    """What a compiler writes: a program made of sources, some of which this command may have written."""
    if inv.name.split("-")[0] not in ("gcc", "clang", "g++", "clang++", "rustc", "cc", "c++"):
        return ANYTHING
    sources = [inv.written(arg) for arg in inv.args if re.search(r"\.(?:c|cc|cpp|cxx|rs|m|s|S)$", arg.text)]
    for arg in inv.args:
        if re.search(r"\.(?:c|cc|cpp|cxx|rs|m)$", arg.text):
            inv.run_file(arg, "c")
    return Out(None, frozenset({"compiled"})) if all(s is None or s.text is not None for s in sources) else ANYTHING


for _name, _tool in TOOLS.items():
    program(_name, reads=_name != "openssl")(_judge(_tool))


for _alias, _target in {
    "g++": "gcc",
    "cc": "gcc",
    "c++": "gcc",
    "clang++": "clang",
    "py.test": "pytest",
    "7zz": "7z",
    "pigz": "ar",
    "makeinfo": "ar",
}.items():
    program(_alias, reads=True)(_judge(TOOLS[_target]))


_MAKE_VARIABLES = frozenset("SHELL .SHELLFLAGS MAKEFLAGS MAKE MAKEFILES BASH_ENV LD_PRELOAD PATH".split())


@program(
    "make gmake bmake nmake just task mage doit earthly dagger mk",
    reads=False,
)
def make(inv: Invocation) -> Out | None:
    """Builds: ``SHELL=``, ``--eval``, makefiles from elsewhere or written by this command."""
    p = inv.options(
        "fCIjlowWE",
        "--file --makefile --directory --eval --jobs --include-dir --justfile --working-directory --shell --taskfile",
    )
    if inv.name in ("make", "gmake", "bmake"):
        for value in p.values("--eval", "-E"):
            inv.ask("evaluates a rule from its arguments")
            inv.code("make", value)
    if any(value.text.startswith("/tmp/") for value in p.values("-C", "--directory")) and inv.name == "make":
        inv.ask("builds in a temporary directory")
    for operand in p.operands:
        name, equals, setting = operand.text.partition("=")
        if equals and name.strip(":+?") in _MAKE_VARIABLES:
            inv.ask(f"sets {name} for every recipe")
        elif equals:
            inv.engine.arm(name, operand.with_text(setting), inv.state)
            if "$(" in setting or "`" in setting:
                inv.code("make", operand)
            if re.search(r"\$\((?!shell)|`|;|\|", setting):
                inv.script(operand.with_text(": " + setting))
    files = p.values("-f", "--file", "--makefile", "--justfile", "--taskfile")
    for file in files or [Arg("Makefile"), Arg("makefile"), Arg("GNUmakefile"), Arg("justfile")]:
        if file.text in ("-", "/dev/stdin", "/dev/fd/0"):
            if inv.stdin.text is None:
                inv.ask("runs a makefile that is not known")
            else:
                inv.code("make", Arg(inv.stdin.text, inv.stdin.tags))
                inv.ask("runs a makefile from its input")
        elif files and file.text.startswith(("/dev/", "/tmp/")) and inv.written(file) is None:
            inv.ask("runs a makefile from " + file.text)
        else:
            inv.run_file(file, "make")
    if p.has("--shell") and inv.name == "just":
        inv.ask("sets the shell for every recipe")
    return ANYTHING
