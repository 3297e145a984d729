"""Interpreters: code in options, in files this command wrote, or on standard input."""

from __future__ import annotations

import re

import attrs

from ..invocation import Invocation
from ..paths import is_outside
from ..registry import program
from ..values import ANYTHING, Arg, Out
from .databases import judge_task


@attrs.frozen
class Language:
    """How an interpreter takes code.

    Attributes:
        name: which reader judges it.
        code: options whose value is code.
        values: short options with a value (those of ``code`` included).
        long_values: long options with a separate value.
        stdin: whether it reads a program from its input when it gets no file.
        loads: options that load a file or module first.
    """

    name: str
    code: tuple[str, ...]
    values: str = ""
    long_values: tuple[str, ...] = ()
    stdin: bool = True
    loads: tuple[str, ...] = ()


_LANGUAGES = {
    "perl": Language("perl", ("-e", "-E"), "eEIMmx", loads=("-M", "-m", "-d", "-I")),
    "ruby": Language("ruby", ("-e",), "eIrCEFTK", loads=("-r", "-I")),
    "irb": Language("ruby", ("-e",), "erI", loads=("-r",)),
    "php": Language("php", ("-r", "-B", "-R", "-E", "--run"), "rBREFdczfSt", ("--run",), loads=("-d", "-c", "-z")),
    "lua": Language("lua", ("-e",), "el", loads=("-l",)),
    "luajit": Language("lua", ("-e",), "elj", loads=("-l", "-j")),
    "tclsh": Language("tclsh", ()),
    "wish": Language("tclsh", ()),
    "expect": Language("expect", ("-c",), "cfD"),
    "Rscript": Language("Rscript", ("-e",), "e"),
    "R": Language("Rscript", ("-e",), "ef", stdin=True),
    "julia": Language(
        "julia", ("-e", "-E", "--eval", "--print"), "eELptJ", ("--eval", "--print", "--load"), loads=("-L", "--load")
    ),
    "osascript": Language("osascript", ("-e",), "el"),
    "groovy": Language("groovy", ("-e",), "e"),
    "elixir": Language("elixir", ("-e", "--eval"), "er", ("--eval", "--rpc-eval"), loads=("-r",)),
    "iex": Language("elixir", ("-e", "--eval"), "er", ("--eval",)),
    "erl": Language("elixir", ("-eval",), "", ("-eval", "-s", "-run")),
    "guile": Language("scheme", ("-c",), "cles"),
    "emacs": Language(
        "scheme",
        ("--eval", "-eval", "--execute"),
        "lf",
        ("--eval", "--execute", "--load", "--funcall", "--script"),
        stdin=False,
        loads=("-l", "--load", "-f", "--funcall", "--script"),
    ),
    "emacsclient": Language("scheme", ("--eval", "-e"), "e", ("--eval",), stdin=False),
    "sbcl": Language("scheme", ("--eval",), "", ("--eval", "--load"), loads=("--load",)),
    "clojure": Language("scheme", ("-e", "-M", "-X"), "eMX"),
    "bb": Language("scheme", ("-e",), "e"),
    "racket": Language("scheme", ("-e",), "e"),
    "scala": Language("java", ("-e",), "e"),
    "kotlin": Language("java", ("-e",), "e"),
    "jshell": Language("java", ("-e",), ""),
    "ghc": Language("unknown", ("-e",), "e", stdin=False),
    "ocaml": Language("unknown", ("-e",), "e"),
    "octave": Language("unknown", ("--eval",), "", ("--eval",)),
    "matlab": Language("unknown", ("-r", "-batch"), "r"),
    "maxima": Language("unknown", ("-r", "--run-string"), "r"),
    "gnuplot": Language("unknown", ("-e",), "e"),
    "swipl": Language("unknown", ("-g", "-t"), "gt"),
    "gjs": Language("node", ("-c",), "c"),
    "d8": Language("node", ("-e",), "e"),
    "qjs": Language("node", ("-e",), "e"),
}


@program(*_LANGUAGES, reads=True)
def interpreter(inv: Invocation) -> Out | None:
    """Judges code by the language's table entry."""
    from ..registry import canonical_name

    language = _LANGUAGES[canonical_name(inv.name)]
    p = inv.options(
        language.values,
        language.long_values,
        single_dash=language.name in ("elixir",) and inv.name == "erl",
        stop=False,
    )
    if any(o.name == "-S" for o in p) and any(
        is_outside(place) for value in p.values("-t") for place in inv.places(value)
    ):
        inv.ask("serves a directory outside the workspace")
    if inv.name == "ruby" and "-run" in inv.texts and "httpd" in inv.texts:
        inv.ask("serves a directory to the network")
    if inv.name == "php" and any(value.text.startswith(("0.0.0.0", "[::]")) for value in p.values("-S")):
        inv.ask("serves a directory to the network")
    codes = p.values(*language.code)
    for code in codes:
        inv.code(language.name, code)
    for option in p:
        if (
            option.name in language.loads
            and option.value is not None
            and not _plain_module(inv, option.value.text, option.name)
        ):
            inv.ask(f"loads {option.value.text[:60]} first")
    if language.name == "perl" and any(o.name == "-s" or (o.name == "-i" and o.value) for o in p):
        pass
    if codes:
        for target in p.operands if any(o.name == "-i" for o in p) else ():
            inv.write(target, None)
        return inv.stdin.derived("file")
    if not p.operands:
        return run_input(inv, language) if language.stdin and not inv.args else _maybe_stdin(inv, language)
    if p.operands[0].text in ("-", "/dev/stdin"):
        return run_input(inv, language)
    for option in p:
        if option.name == "--execute" and option.value is not None:
            inv.code(language.name, option.value)  # artisan tinker
    if p.operands[0].text.endswith(("artisan", "console", "drush", "wp-cli.phar")):
        judge_task(inv, " ".join(arg.text for arg in p.operands[1:]))
    return run_program_file(inv, p.operands[0], language.name)


def _plain_module(inv: Invocation, text: str, option: str) -> bool:
    if option in ("-I",):
        return not text.startswith("/tmp")
    if option == "-d" and inv.name.startswith("php"):
        return not re.search(
            r"auto_(?:prepend|append)|extension|disable_functions|open_basedir|allow_url|sendmail|ffi", text
        )
    if re.search(r"[;()\s'\"]|^/|^\.\.|^~|\ue000|-e\b", text) and not re.fullmatch(r"[\w:]+=[\w,:]+", text):
        return False
    return not re.match(
        r"(?:Socket|IO::Socket|File::Path|IPC|Inline|LWP|HTTP|Net|socket|open3|pty|fileutils|net|open-uri|fiddle|os|posix|ffi)\b",
        text,
    )


def run_program_file(inv: Invocation, file: Arg, language: str) -> Out | None:
    ran = inv.run_file(file, language, trees=True)
    if ran is not None:
        return ran
    if (file.split and not file.known and file.tags - {"glob"}) or (
        not file.known and file.tags & {"sub", "stdin"} and not {"--check", "-c", "-l", "-wc"} & set(inv.texts)
    ):
        inv.dynamic("runs a program whose name is not known")
    if re.match(r"https?://", file.text):
        inv.ask("runs a program from the network")
    if file.text.startswith("/dev/"):
        inv.ask("runs what it reads from " + file.text)
    return ANYTHING


def _maybe_stdin(inv: Invocation, language: Language) -> Out | None:
    if (
        any(re.fullmatch(r"--?(?:v|V|version|h|help|l|i|m|n|w|c|q|slave|vanilla)\w*", text) for text in inv.texts)
        and inv.stdin.text is None
    ):
        return ANYTHING
    return run_input(inv, language) if language.stdin else ANYTHING


def run_input(inv: Invocation, language: Language) -> Out | None:
    stdin = inv.stdin
    if stdin.text is not None:
        inv.code(language.name, Arg(stdin.text, stdin.tags))
    elif "net" in stdin.tags:
        inv.ask("runs what was just downloaded")
    elif stdin.tags:
        inv.ask("runs the output of another command")
    return ANYTHING


@program("java", "kotlinc", "scalac", "javac", reads=False)
def java(inv: Invocation) -> Out | None:
    """Agents and hooks of the virtual machine."""
    joined = " ".join(inv.texts)
    if re.search(
        r"-javaagent|-agent(?:lib|path)|-XX:On(?:OutOfMemory)?Error|https?://|-Djava\.rmi|-Dcom\.sun\.jndi|-Xbootclasspath|@/",
        joined,
    ):
        inv.ask("loads or runs something else in the virtual machine")
    for arg in inv.args:
        if arg.text.endswith((".java", ".kt", ".scala")):
            inv.run_file(arg, "java")
        elif arg.text.endswith(".jar") and inv.run_file(arg) is None and arg.text.startswith(("/tmp/", "/var/tmp/")):
            inv.ask("runs a program from a temporary directory")
    return ANYTHING
