"""Interpreters: code in options, in files this command wrote, or on standard input."""

from __future__ import annotations

import re

import attrs

from ..invocation import Invocation
from ..paths import is_outside, write_kind
from ..registry import program
from ..values import ANYTHING, NOTHING, UNKNOWN, Arg, Out
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
        return _stdin(inv, language) if language.stdin and not inv.args else _maybe_stdin(inv, language)
    if p.operands[0].text in ("-", "/dev/stdin"):
        return _stdin(inv, language)
    if p.operands[0].text.endswith(("artisan", "console", "drush", "wp-cli.phar")):
        judge_task(inv, " ".join(arg.text for arg in p.operands[1:]))
    return _file(inv, p.operands[0], language.name)


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


def _file(inv: Invocation, file: Arg, language: str) -> Out | None:
    ran = inv.run_file(file, language, trees=True)
    if ran is not None:
        return ran
    if (file.split and not file.known and file.tags - {"glob"}) or (not file.known and "sub" in file.tags):
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
    return _stdin(inv, language) if language.stdin else ANYTHING


def _stdin(inv: Invocation, language: Language) -> Out | None:
    stdin = inv.stdin
    if stdin.text is not None:
        inv.code(language.name, Arg(stdin.text, stdin.tags))
    elif "net" in stdin.tags:
        inv.ask("runs what was just downloaded")
    elif stdin.tags:
        inv.ask("runs the output of another command")
    return ANYTHING


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
        return _stdin(inv, Language("python", ()))
    if args[0].text == "-" or any(
        place in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") for place in inv.places(args[0])
    ):
        return _stdin(inv, Language("python", ())) if inv.stdin.text is not None or inv.stdin.tags else ANYTHING
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
    result = _file(inv, args[0], "python")
    inv.read_all(args[1:])
    return result


def _code(inv: Invocation, code: Arg, rest: list[Arg]) -> Out | None:
    inv.code("python", code)
    inv.read_all(rest)
    return Out(None, inv.stdin.tags | {"python"})


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
            _stdin(inv, Language("python", ()))
        for index, arg in enumerate(rest[:-1]):
            if arg.text == "-c" and name == "pdb":
                inv.ask("runs debugger commands")
            if arg.text == "-m" and index + 1 < len(rest):
                return _module(inv, rest[index + 1], rest[index + 2 :])
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


# -- JavaScript --------------------------------------------------------------------------------------


@program(
    "node deno ts-node electron nodejs",
    reads=True,
)
def javascript(inv: Invocation) -> Out | None:
    """Judges ``-e``, ``-p``, scripts and standard input."""
    p = inv.options(
        "eprCI",
        "--eval --print --require --import --loader --experimental-loader --env-file --conditions "
        "--inspect-port --title --max-old-space-size --test-reporter --config --import-map",
        longs=("--test", "--check", "--watch", "--inspect", "--prof"),
    )
    codes = p.values("-e", "-p", "--eval", "--print") + [
        v for o in p if o.name in ("-pe", "-ep") for v in [o.value] if v
    ]
    cluster = next((i for i, t in enumerate(inv.texts) if re.fullmatch(r"-(?:pe|ep|ne)", t)), None)
    if cluster is not None and cluster + 1 < len(inv.args):
        codes = [inv.args[cluster + 1]]
    operands = list(p.operands)
    if inv.name in ("deno", "bun") and operands and operands[0].text in ("eval", "repl"):
        codes += operands[1:2]
        if any(o.name == "--eval" for o in p):
            codes += p.values("--eval")
        operands = []
    elif (
        inv.name in ("deno", "bun")
        and operands
        and operands[0].text
        in (
            "run",
            "test",
            "serve",
            "install",
            "compile",
            "task",
            "fmt",
            "lint",
            "check",
            "bench",
            "cache",
            "info",
            "doc",
            "add",
            "publish",
            "upgrade",
        )
    ):
        verb = operands.pop(0).text
        if verb == "publish":
            inv.ask("publishes a package")
        if verb not in ("run", "serve"):
            operands = [a for a in operands if "://" in a.text] if verb in ("install", "compile") else []
    for code in codes:
        inv.code("node", code)
    for option in p:
        if (
            option.name.startswith("--inspect")
            and option.value is not None
            and not re.match(r"(?:127\.|localhost|\d+$|\[::1)", option.value.text)
        ):
            inv.ask("opens a debugger to the network")
        if (
            option.name in ("-r", "--require", "--import", "--loader", "--experimental-loader")
            and option.value is not None
        ):
            text = option.value.text
            if re.match(r"data:|https?:|/tmp|\.\./|/(?!app|workspace|src)", text) or (
                inv.run_file(option.value, "node") is None and UNKNOWN in text
            ):
                inv.ask(f"loads {text[:60]} first")
    if codes:
        return inv.stdin.derived("node")
    if operands and operands[0].text != "-":
        if re.match(r"https?://|npm:|jsr:", operands[0].text) and inv.name == "deno":
            inv.ask("runs a program from the network")
        return _file(inv, operands[0], "node")
    if (
        not inv.args
        or inv.texts == ["-"]
        or (not operands and inv.stdin.text is not None)
        or (inv.stdin.tags and not any(t.startswith("--") or t in ("-v", "-h") for t in inv.texts))
    ):
        return _stdin(inv, Language("node", ()))
    return ANYTHING


# -- awk, sed, editors, debuggers --------------------------------------------------------------------


@program("awk", reads=False)
def awk(inv: Invocation) -> Out | None:
    """The first operand is the program unless ``-f`` names one."""
    p = inv.options("FvfeliE", "--field-separator --assign --file --source --load --include --exec")
    files = p.values("-f", "--file", "-E", "--exec")
    operands = list(p.operands)
    for source in p.values("-e", "--source"):
        inv.code("awk", source)
    if p.has("-l", "--load", "-i", "--include"):
        if any(v.text != "inplace" for v in p.values("-l", "--load", "-i", "--include")):
            inv.ask("loads an extension or another file")
        for operand in operands if files or p.values("-e", "--source") else operands[1:]:
            inv.write(operand, None)
    for file in files:
        if file.text in ("-", "/dev/stdin"):
            _stdin(inv, Language("awk", ()))
        elif inv.run_file(file, "awk") is None and file.text.startswith(("/tmp/", "/dev/")):
            inv.ask("runs a program from " + file.text)
    if not files and not p.values("-e", "--source") and operands:
        inv.code("awk", operands.pop(0))
    inv.read_all(operands)
    return inv.stdin.derived("file" if operands else "filtered")


@program("sed", reads=False)
def sed(inv: Invocation) -> Out | None:
    """The first operand is the script unless ``-e`` or ``-f`` gives one."""
    args = list(inv.args)
    p = inv.options("efl", "--expression --file --line-length")
    in_place = [o for o in p if o.name == "-i" or o.name.startswith("--in-place")]
    scripts = p.values("-e", "--expression")
    operands = list(p.operands)
    clustered = [o for o in p if o.name == "-i"]
    if clustered and operands and operands[0].text == "":
        operands.pop(0)  # the BSD form: -i ''
    text_options = [a.text for a in args if re.match(r"-i[.\w]", a.text)]
    for option in text_options:
        if option.endswith("e") and len(option) == 3 and not scripts and operands:
            scripts = [operands.pop(0)]
    for file in p.values("-f", "--file"):
        if inv.run_file(file, "sed") is None and file.text.startswith(("/tmp/", "/dev/")):
            inv.ask("runs a script from " + file.text)
    if not scripts and not p.values("-f", "--file") and operands:
        scripts = [operands.pop(0)]
    inv.code(
        "sed", Arg("\n".join(s.text for s in scripts), frozenset().union(*(s.tags for s in scripts)))
    ) if scripts else None
    for operand in operands if in_place else ():
        _edited(inv, operand, scripts)
    if in_place and any(s.text.strip() in ("d", "1,$d", "/./d", "/.*/d") for s in scripts):
        inv.ask("empties files")
    for operand in operands:
        inv.write(operand, None) if in_place else inv.read(operand)
    return inv.stdin.derived("file" if operands else "filtered") if not in_place else NOTHING


def _edited(inv: Invocation, target: Arg, scripts: list[Arg]) -> None:
    """A script edited and then run in one command: what the edits put in is judged as its content."""
    if not re.search(r"(?:\.(?:sh|bash)|(?:^|/)[^./]+)$", target.text):
        return
    pieces = [m.group(3) for s in scripts for m in re.finditer(r"s([/|#,!@])(.*?)(?<!\\)\1(.*?)(?<!\\)\1", s.text)]
    pieces += [m.group(1) for s in scripts for m in re.finditer(r"(?m)^\d*\$?[aic]\\?\s*(.*)$", s.text)]
    inv.engine.remember(target, inv.state, Out("\n".join(pieces)))


@program(
    "vim ex ed red nano pico kak hx micro joe",
    reads=True,
)
def editor(inv: Invocation) -> None:
    """Editors run commands: ``vim -c``, ``+cmd``, ``ed`` scripts."""
    for index, text in enumerate(inv.texts):
        value = ""
        if inv.name in ("ed", "red") and text == "-s":
            continue
        if re.fullmatch(r"-[a-zA-Z]*c", text):
            text = "-c"
        if text.startswith("-c") and not text.startswith("-c=") and len(text) > 2:
            value = text[2:]
        if text in ("-c", "--cmd", "-S", "-s", "-u", "-U", "-e") and index + 1 < len(inv.texts):
            value = inv.texts[index + 1] if text in ("-c", "--cmd", "-e") else "source"
            if text in ("-u", "-U") and inv.texts[index + 1] in ("NONE", "NORC", "DEFAULTS"):
                value = ""
        elif text.startswith("+") and not re.fullmatch(r"\+\d*|\+/.*", text):
            value = text[1:]
        if value and not re.fullmatch(
            r"(?:\d+|set \w+|q!?|qa!?|wq?a?!?|x|:?\d+|syntax (?:on|off)|noh)", value.lstrip(":")
        ):
            inv.ask("gives an editor commands to run: " + value[:60])
            bang = re.match(r":?%?!(.*)", value)
            if bang:
                inv.script(bang.group(1))
    if inv.name in ("ed", "red", "ex"):
        content = inv.stdin.text
        if (content is None and inv.stdin.tags) or (
            content is not None and re.search(r"(?m)!|^\s*(?:\d+|[.$%]|,)*[wWrRe][ \t]+\S", content)
        ):
            inv.ask("gives an editor commands to run")
            for line in (content or "").splitlines():
                if line.strip().startswith("!"):
                    inv.script(line.strip()[1:])
    for target in [arg for arg in inv.args if not arg.text.startswith(("-", "+"))][:5]:
        if inv.name in ("ed", "ex") or any(write_kind(place) is not None for place in inv.places(target)):
            inv.write(target, None)


@program(
    "gdb lldb rr cgdb pudb dlv jdb windbg",
    reads=False,
)
def debugger(inv: Invocation) -> None:
    """Debuggers run commands and enter other processes."""
    p = inv.options(
        "",
        "-ex -iex -eval-command -x -command -p -pid -o -s -source -O -Q --eval-command --command --pid --source",
        single_dash=True,
    )
    joined = " ".join(inv.texts)
    if re.search(
        r"!|\bshell\b|\bpython\b|\bsource\b|\bpipe\b|\bcall\b|\bscript\b|platform shell|\bcompile\b|\bdump\b|\bset\b|make\b",
        joined,
    ):
        inv.ask("gives a debugger commands that run programs")
    if p.has("-p", "-pid", "--pid", "-x", "-command", "--command", "-s", "-source", "--source"):
        inv.ask("enters another process or runs a command file")
    if inv.stdin.text is not None or inv.stdin.tags:
        inv.ask("feeds a debugger commands")


@program("m4", "dc", "bc-shell", "cpp", "x", reads=True)
def macro(inv: Invocation) -> Out | None:
    """``m4`` and ``dc`` have commands that run programs."""
    p = inv.options("efD", ("--expression", "--file"))
    text = " ".join([*(v.text for v in p.values("-e", "--expression")), inv.stdin.text or "", *inv.texts])
    if (inv.name == "m4" and re.search(r"syscmd|esyscmd|mkstemp|maketemp", text)) or (
        inv.name == "dc" and re.search(r"!", text)
    ):
        inv.ask("runs a program from a macro or calculator")
    if inv.stdin.text is None and inv.stdin.tags:
        inv.ask("runs macros that are not known")
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
        elif arg.text.endswith(".jar"):
            inv.run_file(arg)
    return ANYTHING
