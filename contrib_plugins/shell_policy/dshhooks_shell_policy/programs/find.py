"""``find`` and ``fd``: searches that may run commands, remove and write."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..paths import is_outside, read_kind
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Arg, Out

#: Names nobody misses: a ``-delete`` behind one of these filters inside the workspace is housekeeping.
_JUNK = later(
    r"(?:__pycache__|\.DS_Store|Thumbs\.db|\*\.(?:pyc|pyo|log|tmp|temp|bak|orig|rej|swp|swo|o|obj|class|cache)|\*~|\.pytest_cache|\.mypy_cache|\.ruff_cache|\*\.py\[co\]|\*\.egg-info)"
)
_TESTS_WITH_VALUE = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size -mtime -atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -perm -user -group"
    " -uid -gid -maxdepth -mindepth -fstype -inum -links -samefile -used -context -printf -regextype -newermt -newerct -newerat".split()
)


@program("find", reads=False)
def find(inv: Invocation) -> Out | None:
    """Judges what ``find`` does with what it finds."""
    args = list(inv.args)
    roots: list[Arg] = []
    while args and not re.match(r"-|\(|!|,$", args[0].text):
        roots.append(args.pop(0))
    roots = roots or [Arg(".")]
    junk = negated = False
    names = 0
    secret: list[str] = []
    index = 0
    while index < len(args):
        text = args[index].text
        if text in ("-exec", "-execdir", "-ok", "-okdir"):
            index = _exec(inv, args, index + 1, roots, junk, secret)
            continue
        if text in ("-fprintf", "-fprint", "-fprint0", "-fls") and index + 1 < len(args):
            inv.write(args[index + 1])
            index += 1
        elif text in ("-files0-from", "-newer") and index + 1 < len(args):
            inv.read(args[index + 1])
            index += 1
        elif text in ("!", "-not"):
            negated = True
        elif text in ("-name", "-path", "-iname") and index + 1 < len(args):
            index += 1
            if not negated and (read_kind(args[index].text) or read_kind(args[index].text.strip("*"))):
                secret.append(args[index].text)
            is_junk = not negated and bool(_JUNK.fullmatch(args[index].text.rsplit("/", 1)[-1]))
            junk = is_junk if not names else junk and is_junk
            names += 1
            negated = False
        elif text == "-delete":
            _delete(inv, roots, junk)
        elif text in _TESTS_WITH_VALUE:
            index += 1
        elif text.startswith("-" + UNKNOWN) or (not args[index].known and args[index].split):
            inv.dynamic("gets tests or actions that are not known")
        index += 1
    if secret and any(place in ("/", "~", "/home", "/root", "/etc") for root in roots for place in inv.places(root)):
        inv.ask("searches the whole home or machine for secrets")
    return Out(None, frozenset({"file", *_origin(inv, roots), *("path:" + name for name in secret)}))


def _origin(inv: Invocation, roots: list[Arg]) -> list[str]:
    places = [place for root in roots for place in inv.places(root)]
    return ["outside"] if any(is_outside(place) for place in places) else []


def _delete(inv: Invocation, roots: list[Arg], junk: bool) -> None:
    places = [place for root in roots for place in inv.places(root)]
    if any(place in ("/", "~") or place.startswith(("/etc", "/usr", "/var", "/home", "/opt")) for place in places):
        inv.deny("deletes what it finds in " + places[0])
    elif not junk or any(is_outside(place) for place in places):
        inv.ask("deletes what it finds")


def _exec(inv: Invocation, args: list[Arg], start: int, roots: list[Arg], junk: bool, secret: list[str]) -> int:
    end = start
    while end < len(args) and args[end].text not in (";", "+"):
        end += 1
    found = frozenset({"stdin", "file"})
    for name in secret:
        inv.run([a.with_text(a.text.replace("{}", name)) for a in args[start:end]], ANYTHING)
    command = [Arg(a.text.replace("{}", UNKNOWN), a.tags | found) if "{}" in a.text else a for a in args[start:end]]
    if command and command[0].text == "rm" and junk and not any(re.match(r"-\w*r|--rec", a.text) for a in command):
        return end + 1
    for root in roots:
        for place in inv.places(root):
            concrete = [
                Arg(a.text.replace("{}", place.rstrip("/") + "/" + UNKNOWN), a.tags | found) if "{}" in a.text else a
                for a in args[start:end]
            ]
            if (
                concrete != command
                and (place == "/" or is_outside(place))
                and concrete[0].text in ("chmod", "chown", "cp", "mv")
            ):
                inv.ask(f"runs {concrete[0].text} on what it finds in {place}")
    if command:
        inv.run(command, ANYTHING)
    return end + 1


@program("fd", reads=False)
def fd(inv: Invocation) -> Out | None:
    """``fd -x`` and ``-X`` run a command for what is found."""
    for index, text in enumerate(inv.texts):
        if text in ("-x", "--exec", "-X", "--exec-batch") or re.match(r"--exec(?:-batch)?=|-[xX]\S", text):
            rest = list(inv.args[index + 1 :])
            attached = (
                re.sub(r"^--exec(?:-batch)?=|^-[xX]", "", text)
                if not text.startswith(("--exec-batch", "--exec")) or "=" in text
                else ""
            )
            command = ([Arg(attached)] if attached else []) + rest
            if command:
                command = [Arg(re.sub(r"\{[./]*\}", UNKNOWN, a.text), a.tags | {"stdin"}) for a in command]
                inv.run([*command, Arg(UNKNOWN, frozenset({"stdin"}), split=True)], ANYTHING)
            break
    return Out(None, frozenset({"file"}))


@program("locate", "mlocate", "plocate", reads=False)
def locate(inv: Invocation) -> Out | None:
    """Lists names; the names of secrets stay marked."""
    return Out(None, frozenset({"file", "outside", *("path:" + arg.text for arg in inv.args if read_kind(arg.text))}))
