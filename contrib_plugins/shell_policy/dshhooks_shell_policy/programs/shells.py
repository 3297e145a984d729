"""Shells: ``-c``, scripts, standard input; ``eval`` and ``source``."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Arg, Out

_SHELLS = ("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "yash", "rbash", "rzsh", "posh", "oksh")
_STDIN = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_OTHER_SHELLS = ("fish", "csh", "tcsh", "nu", "xonsh", "elvish", "rc", "es", "osh", "oil", "ysh")
_KNOWN_HOOKS = later(
    r"""\s*"?\$\((?:ssh-agent(?: -[sc])?|direnv hook \w+|(?:py|rb|nod|go|j)env (?:init|virtualenv-init)[\w -]*|(?:\S*/)?brew shellenv|conda shell\.\w+ hook|(?:\S*/)?fnm env[\w -]*|starship init \w+|zoxide init \w+"""
    r"""|opam env|register-python-argcomplete \w+|dircolors(?: -b)?|minikube (?:-p \w+ )?docker-env|resize)\)"?\s*"""
)


@program(*_SHELLS, *_OTHER_SHELLS, reads=False)
def shell(inv: Invocation) -> Out | None:
    """Judges the script a shell is given."""
    script, file, rest, interactive = _arguments(inv)
    if script is not None:
        positional = list(rest)
        inner_args = positional[1:]
        if positional and "$0" in script.text:
            script = script.with_text(re.sub(r'"?\$\{?0\}?"?', positional[0].text.replace("\\", r"\\"), script.text))
        return inv.script(script, positional=inner_args, what="a shell command")
    if file is not None and file.text != "-" and not any(place in _STDIN for place in inv.places(file)):
        return _script_file(inv, file, rest)
    return _from_stdin(inv, rest, interactive)


def _arguments(inv: Invocation) -> tuple[Arg | None, Arg | None, list[Arg], bool]:
    """Return the ``-c`` script, the script file, the remaining arguments, and whether the shell reads commands interactively."""
    args = list(inv.args)
    command = interactive = stdin = False
    while args:
        text = args[0].text
        if text in ("--", "-"):
            args.pop(0)
            break
        if not text.startswith(("-", "+")) or text.startswith("-" + UNKNOWN):
            break
        args.pop(0)
        if text in ("--rcfile", "--init-file", "-O", "+O", "-o", "+o", "--emulate"):
            if args and text in ("--rcfile", "--init-file"):
                inv.ask("reads another start file")
                inv.run_file(args[0], "bash")
            if args:
                args.pop(0)
        elif text in ("--command",) or text.startswith("--command="):
            command = True
            if "=" in text:
                args.insert(0, Arg(text.split("=", 1)[1]))
        elif text.startswith("-") and not text.startswith("--"):
            command = command or "c" in text
            stdin = stdin or "s" in text
            interactive = interactive or "i" in text
            if text[-1] in "oO" and len(text) > 2 and args:
                args.pop(0)
        if UNKNOWN in text:
            inv.dynamic("has an option that is not known")
    if any(a.split and not a.known for a in args[:1]):
        inv.dynamic("gets arguments that are not known")
    if command:
        return (args[0] if args else Arg("")), None, args[1:], interactive
    if stdin or not args:
        return None, None, args, interactive
    return None, args[0], args[1:], interactive


def _script_file(inv: Invocation, file: Arg, rest: list[Arg]) -> Out | None:
    if "-n" in inv.texts:
        return ANYTHING
    ran = inv.run_file(file, "bash", trees=True)
    if ran is not None:
        return ran
    if not file.known and file.split and file.tags - {"glob"}:
        inv.dynamic("runs a script whose name is not known")
    if not file.known and file.tags & {"sub", "stdin"}:
        inv.dynamic("runs a script whose name is not known")
    if file.text.startswith(("/dev/", "/tmp/", "/var/tmp/")):
        inv.ask("runs what it reads from " + file.text)
    inv.read(file)
    return ANYTHING


def _from_stdin(inv: Invocation, rest: list[Arg], interactive: bool) -> Out | None:
    if "--version" in inv.texts or "--help" in inv.texts:
        return ANYTHING
    stdin = inv.stdin
    if stdin.text is not None:
        return inv.script(Arg(stdin.text, stdin.tags), stdin=ANYTHING, positional=rest, what="its input")
    if "net" in stdin.tags:
        inv.ask("runs what was just downloaded")
    elif stdin.tags:
        inv.ask("runs the output of another command")
    else:
        inv.ask("reads commands that are not known")
    return ANYTHING


@program("eval", reads=False)
def eval_(inv: Invocation) -> Out | None:
    """Runs its arguments once more as shell text."""
    text = Arg(" ".join(inv.texts), frozenset().union(*(arg.tags for arg in inv.args)) if inv.args else frozenset())
    if not text.known and text.tags & {"hook"} and text.text.strip() == UNKNOWN:
        return ANYTHING
    if not text.known and not (text.tags <= {"num", "mktemp"}):
        inv.dynamic("evaluates text that is not known before it runs")
        return ANYTHING
    return inv.engine.text(text.text.replace(UNKNOWN, "${UNKNOWN}"), inv.state, inv.stdin)


#: Commands whose output is meant to be evaluated by a shell.
_HOOKS = {
    "ssh-agent": (),
    "direnv": ("hook",),
    "pyenv": ("init", "virtualenv-init"),
    "rbenv": ("init",),
    "nodenv": ("init",),
    "goenv": ("init",),
    "jenv": ("init",),
    "brew": ("shellenv",),
    "conda": ("shell.bash", "shell.zsh", "shell.posix"),
    "fnm": ("env",),
    "starship": ("init",),
    "zoxide": ("init",),
    "opam": ("env",),
    "dircolors": (),
    "mise": ("activate",),
    "rtx": ("activate",),
    "register-python-argcomplete": (),
}


@program(*_HOOKS, reads=False)
def hooks(inv: Invocation) -> Out | None:
    """Prints shell code of its own; ``exec`` subcommands run a command."""
    first = next((t for t in inv.texts if not t.startswith("-")), "")
    if inv.name in ("brew", "conda"):
        from .packages import brew, conda

        (brew if inv.name == "brew" else conda)(inv)
    if inv.name == "direnv" and first in ("allow", "permit", "grant", "edit", "exec"):
        inv.ask("trusts or runs an .envrc")
    if inv.name == "mise" and first == "trust":
        inv.ask("trusts a configuration")
    if first in ("exec", "x") and inv.name in ("pyenv", "rbenv", "nodenv", "goenv", "jenv", "opam", "mise", "fnm"):
        rest = inv.args[inv.texts.index(first) + 1 :]
        rest = rest[[a.text for a in rest].index("--") + 1 :] if any(a.text == "--" for a in rest) else rest
        return inv.run(rest) if rest else ANYTHING
    if inv.name == "ssh-agent":
        rest = inv.options("atEPO", stop=True).rest
        if rest:
            return inv.run(rest)
    if any("://" in text for text in inv.texts) and inv.name in ("opam", "mise", "conda"):
        inv.ask("uses another source of packages")
    return Out(None, frozenset({"hook"})) if not _HOOKS[inv.name] or first in _HOOKS[inv.name] else ANYTHING


_ACTIVATE = later(
    r"(?:^|/)(?:activate(?:\.\w+)?|nvm\.sh|asdf\.sh|bash_completion|\.cargo/env|\.ghcup/env|conda\.sh|sdkman-init\.sh|setup\.bash|emsdk_env\.sh|export\.sh)$"
)


@program("source", ".", reads=False)
def source(inv: Invocation) -> Out | None:
    """Runs a file in this shell."""
    args = [arg for arg in inv.args if arg.text != "--"]
    if not args:
        return ANYTHING
    file = args[0]
    if file.text == "-" or any(place in _STDIN for place in inv.places(file)):
        return _from_stdin(inv, args[1:], False)
    content = inv.written(file)
    if content is not None:
        if content.text is None and "hook" in content.tags and "net" not in content.tags:
            return ANYTHING
        if content.text is None:
            inv.ask("runs a file or output that is not known")
            return ANYTHING
        return inv.engine.text(content.text, inv.state, inv.stdin)
    read = inv.read(file)
    if not file.known and not _ACTIVATE.search(file.text):
        inv.dynamic("runs a file whose name is not known")
    if file.text.startswith(("/tmp/", "/var/tmp/", "/dev/")):
        inv.ask("runs a file from " + file.text)
    return read


@program("pwsh", reads=False)
def powershell(inv: Invocation) -> None:
    """PowerShell scripts are not parsed."""
    if any(re.fullmatch(r"-(?:c\w*|e\w*|f\w*)", text, re.IGNORECASE) for text in inv.texts) or not inv.args:
        inv.ask("runs PowerShell code, which is not parsed")
    elif not all(text.lower() in ("-version", "--version", "-noprofile", "-help") for text in inv.texts):
        inv.ask("runs a PowerShell script")


@program("cmd", reads=False)
def cmd(inv: Invocation) -> None:
    """Windows command lines are not parsed."""
    inv.ask("runs a Windows command line, which is not parsed")
