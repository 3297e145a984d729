"""``python``: code in ``-c``, modules, scripts and standard input."""

from __future__ import annotations

from ..invocation import Invocation
from ..paths import is_broad, is_outside
from ..registry import program
from ..values import ANYTHING, Arg, Out
from .databases import judge_task
from .interpreters import Language, run_input, run_program_file

# -- Python ------------------------------------------------------------------------------------------

_MODULES_THAT_RUN = {
    "timeit": "python",
    "trace": "",
    "pdb": "",
    "cProfile": "",
    "profile": "",
    "runpy": "",
    "coverage": "",
    "site": "",
}


@program("manage.py", reads=False)
def manage(inv: Invocation) -> Out | None:
    """Django's script, started by itself."""
    return python(inv.with_args([Arg("manage.py"), *inv.args]))


@program(
    "python python2 ipython bpython micropython jython",
    reads=False,
)
def python(inv: Invocation) -> Out | None:
    """Judges ``-c``, ``-m``, scripts and standard input."""
    args = list(inv.args)
    while args and args[0].text.startswith("-") and args[0].text != "-":
        text = args[0].text
        if text.startswith("--"):
            args.pop(0)
            if text in ("--version", "--help"):
                return Out(None)
            continue
        for index, letter in enumerate(text[1:], 1):
            if letter in "cm":
                attached = text[index + 1 :]
                value = args[0].with_text(attached) if attached else (args[1] if len(args) > 1 else Arg(""))
                rest = args[1:] if attached else args[2:]
                return _code(inv, value, rest) if letter == "c" else _module(inv, value, rest)
            if letter in "WX" and not text[index + 1 :] and len(args) > 1:
                args.pop(0)
                break
            if letter in "WX":
                break
            if letter == "V":
                return Out(None)
        args.pop(0)
    return _python_file(inv, args)


def _python_file(inv: Invocation, args: list[Arg]) -> Out | None:
    if not args:
        if inv.args and inv.stdin.text is None and not inv.stdin.tags:
            return ANYTHING
        return run_input(inv, Language("python", ()))
    if args[0].text == "-" or any(
        place in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") for place in inv.places(args[0])
    ):
        return run_input(inv, Language("python", ())) if inv.stdin.text is not None or inv.stdin.tags else ANYTHING
    if args[0].text.endswith("manage.py"):
        judge_task(inv, " ".join(a.text for a in args[1:]))
        for index, arg in enumerate(args[:-1]):
            if arg.text in ("-c", "--command") and args[1].text == "shell":
                inv.code("python", args[index + 1])
        if len(args) > 1 and args[1].text == "dbshell" and inv.stdin.text:
            inv.code("sql", Arg(inv.stdin.text, inv.stdin.tags))
        if len(args) > 1 and args[1].text == "shell" and inv.stdin.text:
            inv.code("python", Arg(inv.stdin.text, inv.stdin.tags))
    if args[0].text.endswith("setup.py") and {"upload", "register"} & {a.text for a in args[1:]}:
        inv.ask("publishes a package")
    inv.read(args[0])
    result = run_program_file(inv, args[0], "python")
    inv.read_all(args[1:])
    return result


def _code(inv: Invocation, code: Arg, rest: list[Arg]) -> Out | None:
    inv.code("python", code)
    inv.read_all(rest)
    return Out(None, inv.stdin.tags | {"python"})


def _unpacks(name: str, rest: list[Arg]) -> bool:
    options = {a.text for a in rest if a.text.startswith("-")}
    wanted = {"--clear"} if name in ("venv", "virtualenv") else {"-e", "--extract"}
    return bool(options & wanted) and any(not a.text.startswith("-") for a in rest)


def _module(inv: Invocation, module: Arg, rest: list[Arg]) -> Out | None:
    if not module.known:
        inv.dynamic("runs a module that is not known")
        return ANYTHING
    name = module.text
    if name in (
        "pip",
        "pipx",
        "uv",
        "twine",
        "poetry",
        "pytest",
        "flask",
        "alembic",
        "build",
        "black",
        "ruff",
        "mypy",
        "flit",
        "hatch",
        "http",
        "httpie",
        "invoke",
        "ensurepip",
        "pipenv",
        "pdm",
        "easy_install",
        "awscli",
        "django",
    ):
        target = {"django": "django-admin", "awscli": "aws", "httpie": "http"}.get(name, name)
        return inv.run([Arg(target), *rest])
    if name in _MODULES_THAT_RUN:
        operands = [a for a in rest if not a.text.startswith("-")]
        if name == "timeit":
            for operand in operands:
                inv.code("python", operand)
        elif operands and operands[0].text.endswith(".py"):
            inv.run_file(operands[0], "python")
        if any(a.text in ("/dev/stdin", "-") for a in operands):
            run_input(inv, Language("python", ()))
        for index, arg in enumerate(rest[:-1]):
            if arg.text == "-c" and name == "pdb":
                inv.ask("runs debugger commands")
            if arg.text == "-m" and index + 1 < len(rest):
                return _module(inv, rest[index + 1], rest[index + 2 :])
    elif name in ("zipfile", "tarfile", "venv", "virtualenv") and _unpacks(name, rest):
        destination = [a for a in rest if not a.text.startswith("-")][-1]
        inv.write(destination, None)
        if any(is_outside(place) or is_broad(place) for place in inv.places(destination)):
            inv.ask("writes over " + destination.text)
    elif name == "http.server":
        p = inv.with_args(rest).options("db", ("--directory", "--bind"))
        if any(is_outside(place) for value in p.values("-d", "--directory") for place in inv.places(value)):
            inv.ask("serves a directory outside the workspace")
    elif name in (
        "code",
        "idlelib",
        "pty",
        "antigravity",
        "webbrowser",
        "smtpd",
        "telnetlib",
        "ftplib",
        "pickle",
        "lib2to3",
    ):
        if name in ("pty", "webbrowser", "antigravity", "smtpd", "telnetlib", "ftplib", "code"):
            inv.ask(f"runs the module {name}")
    elif name == "zipapp" and "-m" in [a.text for a in rest]:
        pass
    inv.read_all(rest)
    written = inv.run_file(Arg(name.replace(".", "/") + ".py"), "python")
    return written or Out(None, inv.stdin.tags | {"python"})
