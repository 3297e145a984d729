"""``node`` and its kin: code in options, scripts and standard input."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Out
from .interpreters import Language, run_input, run_program_file

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
        return run_program_file(inv, operands[0], "node")
    if (
        not inv.args
        or inv.texts == ["-"]
        or (not operands and inv.stdin.text is not None)
        or (inv.stdin.tags and not any(t.startswith("--") or t in ("-v", "-h") for t in inv.texts))
    ):
        return run_input(inv, Language("node", ()))
    return ANYTHING
