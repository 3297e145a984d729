"""Shell builtins that change what later commands mean, and the plain ones whose output is known."""

from __future__ import annotations

import re

from ..grammar.ansi import decode_echo
from ..invocation import Invocation
from ..paths import normalize
from ..patterns import later
from ..registry import program
from ..state import State
from ..values import ANYTHING, NOTHING, UNKNOWN, Arg, Out, unknown

_SECRET_NAME = later(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|APIKEY|CREDENTIALS?|PRIVATE|PAT|PWD|PASS)(?:$|_)|(?:API|ACCESS|SECRET|PRIVATE|ENCRYPTION|SIGNING|AUTH|MASTER|SERVICE)_?KEY|_KEY$|^(?:AWS_SECRET|GH_TOKEN)|DATABASE_URL|CONNECTION_STRING|_DSN$"
)


def is_secret_name(name: str) -> bool:
    """Say whether a variable of this name usually holds a secret."""
    return bool(_SECRET_NAME.search(name.upper())) and name not in ("PWD", "OLDPWD")


def secret_variables(args: tuple[Arg, ...]) -> list[str]:
    """Return the environment variables with secret names whose values the arguments contain."""
    return sorted({tag[4:] for arg in args for tag in arg.tags if tag.startswith("env:") and is_secret_name(tag[4:])})


# -- output ------------------------------------------------------------------------------------------


@program("echo", reads=False)
def echo(inv: Invocation) -> Out | None:
    """Prints its arguments."""
    args = list(inv.args)
    escapes = newline = False
    while args and re.fullmatch(r"-[neE]+", args[0].text):
        escapes = escapes or "e" in args[0].text
        newline = newline or "n" in args[0].text
        args.pop(0)
    _printed(inv)
    text = " ".join(arg.text for arg in args)
    tags = frozenset().union(*(arg.tags for arg in args)) if args else frozenset()
    return Out((decode_echo(text) if escapes else text) + ("" if newline else "\n"), tags | {"echo"})


def _printed(inv: Invocation) -> None:
    names = secret_variables(inv.args)
    if any("indirect" in arg.tags for arg in inv.args):
        inv.ask("prints a variable whose name is not known")
    if names:
        inv.ask("prints the secret variable " + ", ".join(names))


@program("printf", reads=False)
def printf(inv: Invocation) -> Out | None:
    """Prints a format, or with ``-v`` assigns it to a variable."""
    args = list(inv.args)
    _printed(inv)
    target = None
    if args and args[0].text == "-v" and len(args) > 1:
        target = args[1]
        args = args[2:]
    elif args and args[0].text == "--":
        args = args[1:]
    text, tags = _formatted(args)
    if target is not None:
        _assign_to(inv, target, Arg(text if text is not None else UNKNOWN, tags))
        return NOTHING
    return Out(text, tags | {"echo"})


def _formatted(args: list[Arg]) -> tuple[str | None, frozenset[str]]:
    if not args:
        return "", frozenset()
    tags = frozenset().union(*(arg.tags for arg in args))
    pattern, values = decode_echo(args[0].text), [arg.text for arg in args[1:]]
    pieces = re.split(r"%(?:-?\d*\.?\d*)([sbdiqcxXofeg])", pattern.replace("%%", "\0"))
    slots = len(pieces) // 2
    result = ""
    for _ in range(max(1, -(-len(values) // slots) if slots else 1)):
        for index, piece in enumerate(pieces):
            if index % 2 == 0:
                result += piece
            elif piece in "sbqdi":
                value = values.pop(0) if values else ""
                result += decode_echo(value) if piece == "b" else value
            else:
                return None, tags
        if len(result) > 20000:
            return None, tags
    return result.replace("\0", "%"), tags


@program(
    "cat tac nl bat less more most zcat gzcat bzcat xzcat zstdcat head tail",
)
def cat(inv: Invocation) -> Out | None:
    """Prints files; pagers may be told to run something."""
    for arg in inv.args:
        if inv.name in ("less", "more", "most") and re.match(r"\+.*!|-\S*k.?|--lesskey|-[oO].*|--log-file", arg.text):
            inv.ask("the pager is told to run or write something")
    operands = [arg for arg in inv.args if not arg.text.startswith("-") or arg.text == "-"]
    if operands and all(arg.text.endswith(".pid") for arg in operands):
        return Out(None, frozenset({"num"}))
    plain = inv.name in ("cat", "less", "more", "bat") and all(
        a in operands or a.text in ("-u", "-s", "-n", "--plain", "-p") for a in inv.args
    )
    if not operands or (inv.name != "cat" and not plain):
        return inv.stdin if plain else inv.stdin.derived(*_tags_of(inv, operands))
    outs = [inv.stdin if arg.text == "-" else inv.read(arg) for arg in operands]
    if inv.name == "cat" and any(arg.text in ("/dev/zero", "/dev/urandom", "/dev/random") for arg in operands):
        return Out(None, frozenset({"endless"}))
    if not plain or any(out.text is None for out in outs):
        tags = frozenset().union(*(out.tags for out in outs), {"file"})
        return Out(None, tags)
    return Out("".join(out.text or "" for out in outs), frozenset().union(*(out.tags for out in outs)))


def _tags_of(inv: Invocation, operands: list[Arg]) -> set[str]:
    return {"file"}.union(*(inv.read(arg).tags for arg in operands)) if operands else set()


@program("pwd", reads=False)
def pwd(inv: Invocation) -> Out | None:
    """Prints the directory."""
    return Out(inv.state.cwds[0] + "\n") if len(inv.state.cwds) == 1 else ANYTHING


@program("mktemp", reads=False)
def mktemp(inv: Invocation) -> Out | None:
    """Makes a temporary file whose name nobody knows yet."""
    return Out("/tmp/tmp." + UNKNOWN + "\n", frozenset({"mktemp"}))


@program("basename", "dirname", "realpath", "readlink", reads=False)
def path_tools(inv: Invocation) -> Out | None:
    """Print part of a path."""
    operands = [arg for arg in inv.args if not arg.text.startswith("-")]
    if len(operands) != 1 or not operands[0].known:
        return Out(None, frozenset().union(*(arg.tags for arg in operands)) if operands else frozenset())
    text = operands[0].text
    if inv.name == "basename":
        text = text.rstrip("/").rsplit("/", 1)[-1]
    elif inv.name == "dirname":
        text = text.rsplit("/", 1)[0] if "/" in text else "."
    return Out(text + "\n")


@program(
    "true : false wait jobs sleep exit return break continue popd dirs times umask ulimit logout suspend fg bg "
    "disown shopt getopts caller help seq expr date yes nproc hostname whoami id uname tty stty tput clear reset bc",
    reads=False,
)
def quiet(inv: Invocation) -> Out | None:
    """Nothing to judge, but for the options that set the machine."""
    if inv.name == "date":
        parsed = inv.options("dfrsI", "--date --file --reference --set")
        inv.read_all(parsed.values("-f", "--file"))
        if parsed.has("-s", "--set"):
            inv.ask("sets the clock")
    if inv.name == "hostname" and any(not text.startswith("-") for text in inv.texts):
        inv.ask("renames the machine")
    if inv.name == "wait" and "-p" in inv.texts:
        for arg in inv.args:
            _subscript(inv, arg)
    if inv.name == "umask" and inv.texts and re.fullmatch(r"0*", inv.texts[0]):
        inv.ask("makes new files writable by everybody")
    if inv.name == "yes":
        return Out(None, frozenset({"endless"}))
    if inv.name in (":", "true", "false"):
        return NOTHING
    return Out(
        None,
        frozenset(
            {"machine"}
            if inv.name in ("hostname", "whoami", "id", "uname")
            else {"num"}
            if inv.name in ("date", "seq", "nproc", "expr", "bc")
            else set()
        ),
    )


# -- variables ---------------------------------------------------------------------------------------


def _subscript(inv: Invocation, arg: Arg) -> None:
    if re.search(r"\[[^\]]*(?:\$\(|`)", arg.text):
        inv.deny("a subscript in a variable's name runs a command")


def _assign_to(inv: Invocation, target: Arg, value: Arg | tuple[Arg, ...]) -> None:
    _subscript(inv, target)
    if not target.known:
        inv.dynamic("assigns to a variable whose name is not known")
        return
    name = target.text.split("[", 1)[0]
    inv.engine.arm(name, value, inv.state)
    inv.state.assign(name, value)


@program(
    "export declare typeset local readonly setenv",
    reads=False,
)
def declare(inv: Invocation) -> Out | None:
    """Assigns, exports and gives attributes."""
    reference = any(re.fullmatch(r"[-+]\w*n\w*", text) for text in inv.texts) and inv.name in (
        "declare",
        "typeset",
        "local",
    )
    prints = any(re.fullmatch(r"-\w*p\w*", text) for text in inv.texts) or (
        inv.name in ("export", "declare", "typeset") and not inv.args
    )
    if any(re.fullmatch(r"-\w*f\w*", text) for text in inv.texts):
        return Out(None)
    for arg in inv.args:
        if arg.text.startswith(("-", "+")):
            continue
        _subscript(inv, arg)
        name, equals, value = arg.text.partition("=")
        if reference and re.search(r"\$\(|`", value):
            inv.deny("a reference with a subscript runs a command")
        if reference and equals:
            inv.state.assign(name, unknown("reference"))
            continue
        if equals and re.fullmatch(r"[A-Za-z_]\w*\+?", name):
            _assign_to(inv, Arg(name.rstrip("+")), arg.with_text(value))
        elif not equals and inv.state.known_var(name):
            for known in inv.state.vars[name]:
                inv.engine.arm(name, known, inv.state)
        elif UNKNOWN in name and not ("file" in arg.tags and "net" not in arg.tags):
            inv.dynamic("assigns to a variable whose name is not known")
    return Out(None, frozenset({"environment"})) if prints else NOTHING


@program("read", "mapfile", "readarray", "getline", reads=False)
def read(inv: Invocation) -> Out | None:
    """Assigns input to variables; ``mapfile -C`` runs a callback."""
    if inv.name == "read":
        parsed = inv.options("adinNptu")
        array = [*parsed.values("-a"), *parsed.values("-A")]
    else:
        parsed = inv.options("dnOsuCc")
        array = list(parsed.operands) or [Arg("MAPFILE")]
        for callback in parsed.values("-C"):
            inv.script(callback.with_text(callback.text + " ${UNKNOWN}"))
    for target in array:
        words = _input_words(inv)
        _assign_to(inv, target, tuple(words) if words is not None else (unknown("stdin", *inv.stdin.tags, split=True),))
    if inv.name == "read":
        _read_names(inv, parsed.operands)
    return NOTHING


def _read_names(inv: Invocation, names: tuple[Arg, ...]) -> None:
    words = _input_words(inv)
    for index, target in enumerate(names):
        value = unknown("stdin", *inv.stdin.tags)
        if words is not None:
            last = index == len(names) - 1
            value = Arg(
                " ".join(w.text for w in words[index:]) if last else (words[index].text if index < len(words) else "")
            )
        _assign_to(inv, target, value)


def _input_words(inv: Invocation) -> list[Arg] | None:
    text = inv.stdin.text
    if text is None or UNKNOWN in text or len(text) > 4000 or (inv.name == "read" and text.count("\n") > 1):
        return None
    separators = inv.state.vars.get("IFS", (Arg(""),))[0]
    if inv.name == "read" and isinstance(separators, Arg) and separators.text.strip() and separators.known:
        return [Arg(word) for word in re.split("[" + re.escape(separators.text) + "]", text.rstrip("\n"))]
    return [Arg(word) for word in (text.split() if inv.name == "read" else text.splitlines())]


@program("set", reads=False)
def set_(inv: Invocation) -> Out | None:
    """``set --`` replaces the positional parameters; alone it prints every variable."""
    if not inv.args:
        return Out(None, frozenset({"environment"}))
    args = list(inv.args)
    while args and re.match(r"[-+]\w", args[0].text):
        if args.pop(0).text in ("-o", "+o") and args:
            args.pop(0)
    explicit = bool(args) and args[0].text in ("--", "-")
    if explicit:
        args = args[1:]
    if explicit or args:
        inv.state.positional = tuple(args)
    return NOTHING


@program("shift", reads=False)
def shift(inv: Invocation) -> Out | None:
    """Drops positional parameters."""
    count = int(inv.texts[0]) if inv.texts and inv.texts[0].isdigit() else 1
    if inv.state.positional is not None:
        inv.state.positional = inv.state.positional[count:]
    return NOTHING


@program("unset", "let", reads=False)
def unset(inv: Invocation) -> Out | None:
    """Subscripts in their arguments are evaluated."""
    from ..expand import Expander

    for arg in inv.args:
        _subscript(inv, arg)
        if inv.name == "let":
            Expander(inv.engine, inv.state).arith_text(arg.text)
            found = re.match(r"[A-Za-z_]\w*", arg.text)
            if found:
                inv.state.assign(found.group(), unknown("num"))
        elif not arg.text.startswith("-"):
            inv.state.vars.pop(arg.text, None)
            if "-f" in inv.texts:
                inv.state.functions.pop(arg.text, None)
    return NOTHING


@program("test", "[", "[[", reads=False)
def test(inv: Invocation) -> Out | None:
    """Compares; arithmetic operands and ``-v`` evaluate subscripts."""
    inv.engine.test_words(inv.args, inv.state)
    return NOTHING


# -- things that run later ---------------------------------------------------------------------------


@program("trap", reads=False)
def trap(inv: Invocation) -> Out | None:
    """Its first argument is a script."""
    args = [arg for arg in inv.args if arg.text not in ("--", "-p", "-l")]
    if len(args) > 1 and args[0].text not in ("-", ""):
        inv.script(args[0], what="a trap")
    return NOTHING


@program("alias", reads=False)
def alias(inv: Invocation) -> Out | None:
    """An alias is a script with a name."""
    for arg in inv.args:
        name, equals, value = arg.text.partition("=")
        if equals:
            inv.script(arg.with_text(value), what="an alias")
            inv.state.aliases = {**inv.state.aliases, name: value}
    return NOTHING


@program(
    "complete compgen bind enable fc zmodload autoload",
    reads=False,
)
def interactive(inv: Invocation) -> Out | None:
    """Completion commands, key bindings and loadable builtins run code."""
    parsed = inv.options("CFXfxepqruo")
    if inv.name in ("complete", "compgen") and parsed.has("-C", "-F"):
        inv.ask("runs a completion command")
    if inv.name == "compgen" and parsed.has("-e", "-v"):
        return Out(None, frozenset({"environment"}))
    if (
        (inv.name == "bind" and parsed.has("-x", "-f"))
        or (inv.name == "enable" and parsed.has("-f"))
        or inv.name in ("zmodload", "fc")
    ):
        inv.ask("loads or runs code")
    return ANYTHING


@program("history", reads=False)
def history(inv: Invocation) -> Out | None:
    """The history may hold secrets; ``-w`` and ``-a`` write a file."""
    for arg in inv.args:
        if not arg.text.startswith("-") and not arg.text.isdigit() and "-s" not in inv.texts:
            inv.write(arg)
    if "-c" in inv.texts:
        inv.ask("clears the history")
    if "-s" in inv.texts or any(text in ("-w", "-a", "-r", "-n") for text in inv.texts):
        inv.ask("rewrites the history")
    return Out(None, frozenset({"history"}))


# -- the directory -----------------------------------------------------------------------------------


def change_directory(state: State, arg: Arg) -> None:
    """Change the directory of ``state``; what the user would not know keeps both."""
    if arg.text == "-" or not arg.text:
        state.cwds = ("~",) if not arg.text else (*state.cwds,)
        return
    state.cwds = tuple(dict.fromkeys(normalize(arg.text, cwd) for cwd in state.cwds))[:4]


@program("cd", "pushd", "chdir", reads=False)
def cd(inv: Invocation) -> Out | None:
    """Changes the directory."""
    operands = [arg for arg in inv.args if not re.fullmatch(r"-[LPe@n]+|--", arg.text)]
    change_directory(inv.state, operands[0] if operands else Arg(""))
    return NOTHING
