"""Archives: what is unpacked where, and programs in the options of tar."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, Arg, Out
from .tool_table import HELPERS


def _unbundled(letters: str, rest: list[Arg]) -> list[Arg]:
    """The old form ``tar xfC archive directory``: values follow in the order of their letters."""
    options = [Arg("-" + "".join(c for c in letters if c not in "fCbITXLVKNHgF"))]
    for letter in letters:
        if letter in "fCbITXLVKNHgF" and rest:
            options += [Arg("-" + letter), rest.pop(0)]
    return [option for option in options if option.text != "-"] + rest


def unpacked(inv: Invocation, directories: list[str], archives: tuple[Arg, ...] | list[Arg]) -> None:
    """What an archive leaves behind is not known; running it in the same command asks."""
    if archives or inv.stdin.tags:
        contents = [inv.written(archive) for archive in archives]
        net = "net" in inv.stdin.tags or any(content is not None and "net" in content.tags for content in contents)
        for place in inv.places(Arg(directories[0] if directories else ".")):
            inv.state.unpacked |= {("net" if net else "archive", place)}


@program("tar", reads=False)
def tar(inv: Invocation) -> Out | None:
    """Archives: programs in options, absolute names, archives written over something."""
    args = list(inv.args)
    if args and not args[0].text.startswith("-") and re.fullmatch(r"[A-Za-z]+", args[0].text):
        args = _unbundled(args[0].text, args[1:])
    p = inv.with_args(args).options(
        "fCTXIFgHKNVbL",
        "--file --directory --exclude --files-from --use-compress-program --to-command --checkpoint-action "
        "--info-script --new-volume-script --rsh-command --rmt-command --transform --listed-incremental "
        "--exclude-from --strip-components --owner --group --mode --format --warning",
        longs=("--to-stdout", "--checkpoint", "--use-compress"),
    )
    for option in p:
        if any(
            full.startswith(option.name) and len(option.name) > 4
            for full in (
                "--checkpoint-action",
                "--to-command",
                "--info-script",
                "--new-volume-script",
                "--rsh-command",
                "--rmt-command",
            )
        ) and option.name not in ("--checkpoint", "--to-stdout"):
            inv.ask("runs a program: " + option.name)
            if option.value is not None:
                inv.script(option.value.with_text(re.sub(r"^exec=", "", option.value.text)))
        elif option.name in ("-I", "-F") or (
            option.name.startswith("--use") and "--use-compress-program".startswith(option.name)
        ):
            if option.value is not None and not HELPERS.match(option.value.text):
                inv.ask("runs a program: " + option.value.text[:80])
                inv.script(option.value)
        elif option.name in (
            "--remove-files",
            "--absolute-names",
            "-P",
            "--unlink-first",
            "--recursive-unlink",
            "--overwrite-dir",
        ):
            inv.ask("removes files or writes outside its directory")
    creating = p.has("-c", "--create", "-r", "--append", "-u", "--update")
    if not creating:
        unpacked(
            inv, [v.text for v in p.values("-C", "--directory")], [v for v in p.values("-f", "--file") if v.text != "-"]
        )
    for value in p.values("-f", "--file"):
        if value.text != "-" and ":" in value.text:
            inv.ask("moves data to another machine")
        elif creating and value.text != "-":
            inv.write(value)
    for value in p.values("-C", "--directory", "--one-top-level"):
        if not creating:
            inv.write(value, None)
            for place in inv.places(value):
                if place in ("/", "~"):
                    inv.ask("unpacks over " + place)
        else:
            inv.read(value)
    if creating:
        inv.read_all(p.operands)
    extracted = p.has("-O", "--to-stdout") or creating
    return inv.stdin.derived("file") if extracted else ANYTHING
