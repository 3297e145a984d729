"""Wrappers that need more than a table: ``env``, ``sudo``, ``xargs``, ``parallel``, multiplexers."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import canonical_name, program
from ..values import ANYTHING, UNKNOWN, Arg, Out


@program("command", "builtin", reads=False)
def command(inv: Invocation) -> Out | None:
    """``command -v name`` only prints."""
    parsed = inv.options("", (), stop=True)
    if parsed.has("-v", "-V"):
        known = len(parsed.rest) == 1 and parsed.rest[0].known
        return Out(parsed.rest[0].text + "\n") if known else ANYTHING
    if not parsed.rest:
        return ANYTHING
    if parsed.rest[0].text in inv.state.functions:  # command skips functions
        inner = inv.state.fork()
        inner.functions.pop(parsed.rest[0].text)
        return inv.engine.command(list(parsed.rest), inner, inv.stdin)
    return inv.run(parsed.rest)


@program("which", "type", "whence", "hash", reads=False)
def which(inv: Invocation) -> Out | None:
    """Looks programs up; ``hash -p`` makes a name mean something else."""
    if inv.name == "hash" and inv.options("pdt").has("-p"):
        inv.ask("makes a name run another program")
    names = [arg for arg in inv.args if not arg.text.startswith("-")]
    return Out(names[0].text + "\n") if len(names) == 1 and names[0].known and inv.name == "which" else ANYTHING


@program("concurrently", "npm-run-all", "run-p", "run-s", reads=False)
def several(inv: Invocation) -> Out | None:
    """Run command lines side by side."""
    for arg in inv.args:
        if not arg.text.startswith("-") and " " in arg.text:
            inv.script(arg)
    return ANYTHING


@program("env", "cross-env", "cross-env-shell", "env-cmd", reads=False)
def env(inv: Invocation) -> Out | None:
    """Sets variables, then runs a command; alone it prints the environment."""
    parsed = inv.options("uCSa", "--unset --chdir --split-string --argv0", stop=True)
    for value in parsed.values("-S", "--split-string"):
        inv.script(value, what="a command line")
    inner = inv.state.fork()
    for value in parsed.values("-C", "--chdir"):
        from .builtins import change_directory

        change_directory(inner, value)
    rest = list(parsed.rest)
    if rest and rest[0].text == "-":
        rest.pop(0)
    while rest and "=" in rest[0].text and not rest[0].text.startswith("="):
        name, _, setting = rest[0].text.partition("=")
        inv.engine.arm(name, rest[0].with_text(setting), inner)
        rest.pop(0)
    if rest:
        return inv.engine.command(rest, inner, inv.stdin)
    return Out(None, frozenset({"environment"}))


_SUDO_FINE = {
    "apt-get": ("update",),
    "apt": ("update", "list", "search", "show"),
    "systemctl": ("status", "is-active", "list-units", "list-unit-files"),
    "docker": ("ps", "images", "logs", "inspect", "stats", "version", "info"),
    "journalctl": (),
    "lsof": (),
    "ss": (),
    "netstat": (),
    "dmesg": (),
    "ls": (),
    "true": (),
    "whoami": (),
    "id": (),
    "du": (),
    "df": (),
    "ps": (),
}


@program("sudo", reads=False)
def sudo(inv: Invocation) -> Out | None:
    """Runs with other privileges: asks unless the command only looks."""
    if any(re.fullmatch(r"-[A-Za-z]*S[A-Za-z]*|--stdin", text) for text in inv.texts[:3]):
        inv.ask("takes a password from its input")
    parsed = inv.options("aCcDghpRrTtuU", "--user --group --host --chdir --chroot --prompt --close-from", stop=True)
    rest = list(parsed.rest)
    while rest and "=" in rest[0].text.split("/")[0]:
        name, _, value = rest[0].text.partition("=")
        inv.engine.arm(name, rest[0].with_text(value), inv.state)
        rest.pop(0)
    fine = (
        _SUDO_FINE.get(rest[0].text)
        if rest and not parsed.has("-s", "-i", "-e", "--shell", "--login", "--edit")
        else None
    )
    if (
        (fine is None and not parsed.has("-l", "-v", "-V", "-n", "--list", "--version"))
        or (fine and (len(rest) < 2 or rest[1].text not in fine))
    ) or (fine is None and rest):
        inv.ask("runs with administrator privileges")
    return inv.run(rest) if rest else ANYTHING


@program("su", "runuser", "sg", "newgrp", reads=False)
def su(inv: Invocation) -> Out | None:
    """Becomes another user."""
    inv.ask("runs as another user")
    parsed = inv.options("cgGsuw", "--command --group --shell --session-command", stop=False)
    for value in parsed.values("-c", "--command", "--session-command"):
        inv.script(value)
    if inv.name == "runuser" and parsed.operands:
        inv.run(parsed.operands)
    return ANYTHING


@program("xargs", "gxargs", reads=False)
def xargs(inv: Invocation) -> Out | None:
    """Runs a command with arguments from its input or a file."""
    parsed = inv.options(
        "aEdILnPsRJS",
        "--arg-file --delimiter --max-lines --max-args --max-procs --max-chars --process-slot-var",
        stop=True,
    )
    for value in parsed.values("-a", "--arg-file"):
        inv.read(value)
    rest = list(parsed.rest) or [Arg("echo")]
    tags = inv.stdin.tags | {"stdin"}
    if "endless" in tags:
        inv.ask("starts a process for every line of an endless input")
    mark = next(
        (o.value.text for o in parsed if o.name in ("-I", "-J", "--replace") and o.value is not None and o.value.text),
        "",
    )
    if any(o.name in ("-i", "--replace") and o.value is None for o in parsed):
        mark = "{}"
    items = _items(inv, whole=parsed.has("-0", "--null", "-d", "--delimiter"))
    for tag in sorted(tags):
        if tag.startswith("path:"):  # the names of secrets were searched for
            inv.run(
                [
                    *(a.with_text(a.text.replace(mark, tag[5:])) if mark else a for a in rest),
                    *([] if mark else [Arg(tag[5:])]),
                ],
                ANYTHING,
            )
    if mark:
        filled = [_filled(arg, mark, items, tags) for arg in rest]
        return inv.run(filled, ANYTHING)
    return inv.run([*rest, *(items if items is not None else [Arg(UNKNOWN, tags, split=True)])], ANYTHING)


def _items(inv: Invocation, *, whole: bool) -> list[Arg] | None:
    """The words of a known input; with ``whole`` (another delimiter than blanks) the input as it is."""
    if whole and inv.stdin.text is not None and "\0" not in inv.stdin.text and UNKNOWN not in inv.stdin.text:
        return [Arg(inv.stdin.text.strip("\n"))]
    if inv.stdin.text is None or len(inv.stdin.text) > 2000 or UNKNOWN in inv.stdin.text:
        return None
    words = inv.stdin.text.replace("\0", " ").replace("'", "").replace('"', "").split()
    return [Arg(word) for word in words[:50]] or None


def _filled(arg: Arg, mark: str, items: list[Arg] | None, tags: frozenset[str]) -> Arg:
    if mark not in arg.text:
        return arg
    if items is not None:
        return arg.with_text(arg.text.replace(mark, " ".join(item.text for item in items)))
    return Arg(arg.text.replace(mark, UNKNOWN), arg.tags | tags)


@program("parallel", "rush", reads=False)
def parallel(inv: Invocation) -> Out | None:
    """Runs a shell command line per input; without one its input *is* the commands."""
    parsed = inv.options(
        "jaINdCS",
        "--jobs --arg-file --colsep --delay --joblog --results --max-args --sshlogin --tmpdir",
        stop=True,
    )
    words: list[Arg] = []
    for arg in parsed.rest:
        if arg.text.startswith(":::"):
            break
        words.append(arg)
    if parsed.has("-S", "--sshlogin"):
        inv.ask("runs commands on other machines")
    if not words:
        inv.ask("runs the lines of its input as commands")
        return ANYTHING
    text = " ".join(arg.text for arg in words)
    if len(words) == 1 and " " not in text:
        return inv.run([Arg("xargs"), *words])
    inner = [Arg("xargs"), *words] if len(words) > 1 else None
    if inner is not None and canonical_name(words[0].text) not in ("bash", "sh"):
        return inv.run([Arg("xargs"), *(a for a in words if a.text != "{}")])
    return inv.script(Arg(text.replace("{}", '"$arg"'), frozenset().union(*(a.tags for a in words))))


@program("flock", reads=False)
def flock(inv: Invocation) -> Out | None:
    """``flock file command`` and ``flock file -c script``."""
    parsed = inv.options("wE", "--wait --timeout --conflict-exit-code", stop=True)
    rest = list(parsed.rest[1:])
    if rest and rest[0].text in ("-c", "--command") and len(rest) > 1:
        return inv.script(rest[1])
    while rest and rest[0].text.startswith("-"):
        rest.pop(0)
    return inv.run(rest) if rest else ANYTHING


@program("script", reads=False)
def script(inv: Invocation) -> Out | None:
    """``script -c command file`` and the BSD form ``script file command``."""
    parsed = inv.options("cIOBTomE", "--command --log-in --log-out --log-io --log-timing")
    commands = parsed.values("-c", "--command")
    for value in commands:
        inv.script(value)
    for value in parsed.operands[:1]:
        inv.write(value)
    if len(parsed.operands) > 1:
        inv.run(parsed.operands[1:])
    elif not commands:
        inv.ask("starts a recorded interactive shell")
    return ANYTHING


@program("perf", reads=False)
def perf(inv: Invocation) -> Out | None:
    """``perf stat command`` and ``perf record command``."""
    if inv.texts[:1] and inv.texts[0] in ("stat", "record", "trace", "mem", "kvm", "c2c", "lock", "sched"):
        parsed = inv.with_args(inv.args[1:]).options(
            "eFgcoprICtuGx", "--event --output --freq --call-graph --pid --repeat --cpu", stop=True
        )
        if parsed.has("-p", "--pid"):
            inv.ask("enters another process")
        return inv.run(parsed.rest) if parsed.rest else ANYTHING
    return ANYTHING


@program("setarch", "i386", "x86_64", reads=False)
def setarch(inv: Invocation) -> Out | None:
    """``setarch arch command``."""
    parsed = inv.options("", (), stop=True)
    rest = parsed.rest[1:] if inv.name == "setarch" else parsed.rest
    return inv.run(rest) if rest else ANYTHING


@program("busybox", "toybox", "coreutils", reads=False)
def busybox(inv: Invocation) -> Out | None:
    """Runs the applet named first."""
    return inv.run(inv.args) if inv.args and not inv.args[0].text.startswith("-") else ANYTHING


@program("tmux", "screen", "zellij", "byobu", reads=False)
def multiplexer(inv: Invocation) -> Out | None:
    """Commands given to a multiplexer run in its shell; ``send-keys`` types them."""
    verbs = (
        "new-session",
        "new",
        "new-window",
        "neww",
        "split-window",
        "splitw",
        "send-keys",
        "send",
        "run-shell",
        "run",
        "respawn-pane",
        "if-shell",
        "pipe-pane",
        "-dm",
        "-dmS",
        "-X",
        "-d",
        "-m",
        "display-popup",
        "popup",
    )
    if {"set-hook", "source-file", "source", "run-shell", "bind", "bind-key"} & set(inv.texts):
        inv.ask("makes a multiplexer run something")
    if {"kill-server", "kill-all-sessions", "delete-all-sessions"} & set(inv.texts):
        inv.ask("ends every session")
    if any(text in verbs for text in inv.texts):
        for arg in inv.args:
            if not arg.text.startswith("-") and arg.text not in verbs and arg.text not in ("Enter", "C-m"):
                inv.script(arg)
        words = [a for a in inv.args if not a.text.startswith("-") and a.text not in verbs]
        for start in range(min(len(words), 3)):
            if " " not in words[start].text:  # one word with blanks is a script, judged above
                inv.run(words[start:])
    return ANYTHING


@program(
    "busctl gdbus dbus-send qdbus xdotool ydotool wtype",
    reads=False,
)
def remote_control(inv: Invocation) -> None:
    """Drives other programs."""
    inv.ask("drives other programs")


@program("ip", reads=False)
def ip(inv: Invocation) -> Out | None:
    """``ip netns exec ns command``; changes to links, addresses and routes."""
    texts = [t for t in inv.texts if not t.startswith("-")]
    if texts[:2] == ["netns", "exec"]:
        start = inv.texts.index("exec") + 2
        inv.ask("enters another network namespace")
        return inv.run(inv.args[start:]) if inv.args[start:] else ANYTHING
    if set(texts[1:3]) & {"set", "add", "del", "delete", "flush", "change", "replace", "attach"}:
        inv.ask("changes the network")
    return ANYTHING


@program("coproc", "noglob", "nocorrect", "-", reads=False)
def prefix(inv: Invocation) -> Out | None:
    """Words in front of a command."""
    rest = [*inv.args]
    while rest and rest[0].text.startswith("-"):
        rest.pop(0)
    return inv.run(rest) if rest else ANYTHING
