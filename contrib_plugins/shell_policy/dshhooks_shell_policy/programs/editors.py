"""awk, sed, editors, debuggers and macro processors: tools whose scripts run commands."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..paths import write_kind
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, NOTHING, Arg, Out
from .interpreters import Language, run_input

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
        if operands and operands[0].text.strip() in ("0", "", "{}"):
            inv.ask("empties files")
        for operand in operands if files or p.values("-e", "--source") else operands[1:]:
            inv.write(operand, None)
    for file in files:
        if file.text in ("-", "/dev/stdin"):
            run_input(inv, Language("awk", ()))
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
    if inv.written(target) is not None:
        inv.engine.remember(target, inv.state, Out(None, frozenset({"edited"})))
        return
    inserted = [m.group(1).strip() for s in scripts for m in _INSERTED.finditer(s.text)]
    if not re.search(r"(?:\.(?:sh|bash)|(?:^|/)[^./]+)$", target.text):
        if any(re.search(r"[(`]|\bimport\b", piece) for piece in inserted):
            inv.engine.remember(target, inv.state, Out("\n".join(inserted)))
        return
    pieces = [m.group(3) for s in scripts for m in re.finditer(r"s([/|#,!@])(.*?)(?<!\\)\1(.*?)(?<!\\)\1", s.text)]
    inv.engine.remember(target, inv.state, Out("\n".join([*pieces, *inserted])))


_INSERTED = later(r"(?m)^\s*(?:\d+|\$|/(?:\\.|[^/\\])*/)?\s*[aic]\\?\s*(.*)$")


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
