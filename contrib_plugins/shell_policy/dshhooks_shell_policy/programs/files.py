"""Programs that remove, move, copy and overwrite files, or change who may."""

from __future__ import annotations

import posixpath
import re

from ..invocation import Invocation
from ..paths import Kind, is_broad, is_outside, is_precious, is_temporary, read_kind, write_kind
from ..patterns import later
from ..registry import handler_for, program
from ..values import NOTHING, UNKNOWN, Arg, Out

#: Patterns nobody misses the files of: leftovers by suffix, anything in directories that are built anew.
_JUNK_FILES = later(
    r"\.(?:log|tmp|temp|pyc|pyo|bak|orig|rej|swp|o|obj|out|class|cache|pid|lock\.tmp|tgz|tar\.gz|whl)$|~$|(?:^|/)(?:dist|build|out|target|coverage|tmp|temp|\.cache|logs?)/|\.log\.\S+$"
)


#: Caches that tools make anew without being asked.
_CACHE = later(
    r"(?:^|/)(?:__pycache__|\.(?:pytest|mypy|ruff|hypothesis|parcel|eslint|turbo|nyc|sass)[_-]?(?:cache|output)?)/?$"
)


def judge_removal(inv: Invocation, targets: tuple[Arg, ...], *, recursive: bool = False) -> None:
    """Judge removing ``targets``: secrets and settings deny, trees and what is not known ask."""
    for target in targets:
        inv.write(target, None, "removes")
        places = inv.places(target)
        if any(is_broad(place) for place in places):
            inv.ask("removes everything in " + places[0])
        elif any(read_kind(place) for place in places):
            inv.ask("removes a secret: " + places[0])
        elif (target.glob or "glob" in target.tags) and not all(
            _JUNK_FILES.search(place) or is_temporary(place) for place in places
        ):
            inv.ask("removes whatever matches " + target.text.replace(UNKNOWN, "…"))
        elif any(re.search(r"(?:^|/)\.git(?:/|$)", place) for place in places):
            inv.ask("removes part of a repository")
        elif (
            not target.known
            and not target.tags & {"mktemp", "num"}
            and (target.split or target.tags & {"stdin", "sub"})
        ):
            inv.dynamic("removes files whose names are not known")
        elif (
            any(is_outside(place) for place in places)
            and target.known
            and not (places[0].startswith("~/") and places[0].count("/") > 1)
        ):
            inv.ask("removes a file outside the workspace: " + places[0])
    if recursive and targets:
        inv.ask("removes whole directories")


@program(
    "rm unlink shred srm grm wipe safe-rm",
    reads=False,
)
def rm(inv: Invocation) -> Out | None:
    """Removes files. Recursive *and* forced is denied, but for directories this script made with ``mktemp``."""
    parsed = inv.options("ns" if inv.name in ("shred", "wipe") else "", ("--iterations", "--size"))
    recursive = parsed.has("-r", "-R", "--recursive", "-d", "--dir")
    forced = parsed.has("-f", "--force")
    if inv.name in ("shred", "srm", "wipe"):
        inv.deny("destroys files beyond recovery")
    if parsed.has("--no-preserve-root"):
        inv.deny("may remove the whole machine")
    targets = parsed.operands
    if targets and all(_CACHE.search(place) and not is_outside(place) for t in targets for place in inv.places(t)):
        return NOTHING
    if targets and all(
        "mktemp" in target.tags and all(place.startswith("/tmp/tmp.") for place in inv.places(target))
        for target in targets
    ):
        return NOTHING
    if recursive and forced and parsed.has("-r", "-R", "--recursive"):
        inv.deny("recursive forced removal of " + (targets[0].text.replace(UNKNOWN, "…") if targets else "something"))
    judge_removal(inv, targets, recursive=recursive)
    return NOTHING


@program(
    "rimraf del trash trash-put rmtrash erase del-cli premove trash-empty",
    reads=False,
)
def rimraf(inv: Invocation) -> None:
    """Remove trees by another name."""
    inv.ask("removes files and directories")
    judge_removal(inv, tuple(arg for arg in inv.args if not arg.text.startswith("-")))


@program("gio", "gvfs-trash", reads=False)
def gio(inv: Invocation) -> None:
    """``gio trash`` and ``gio remove``."""
    if inv.texts[:1] and inv.texts[0] in ("trash", "remove", "move", "set", "mount"):
        inv.ask("moves or removes files")


@program("rmdir", reads=False)
def rmdir(inv: Invocation) -> None:
    """Removes empty directories."""
    for arg in inv.args:
        if not arg.text.startswith("-"):
            inv.write(arg, None, "removes")


def _targets(inv: Invocation, parsed_operands: tuple[Arg, ...], directory: Arg | None) -> list[Arg]:
    """Return the files a copy or move writes: the destination, and the destination as a directory."""
    if directory is not None:
        sources, destination = parsed_operands, directory
    elif len(parsed_operands) < 2:
        return []
    else:
        *rest, destination = parsed_operands
        sources = tuple(rest)
    inside = [
        destination.with_text(destination.text.rstrip("/") + "/" + posixpath.basename(s.text.rstrip("/")))
        for s in sources
    ]
    if destination.text.rstrip("/") in ("~", ".", "", "..") or (
        destination.text.endswith("/") and len(destination.text) > 1
    ):
        return inside
    return [destination, *inside]


@program(
    "cp mv ln install ditto gcp gmv rename",
    reads=False,
)
def copy(inv: Invocation) -> Out | None:
    """Copies, moves and links; reading a secret and writing a protected file are both judged."""
    parsed = inv.options(
        "tSgomZ" if inv.name == "install" else "tS",
        "--target-directory --suffix --mode --owner --group --context",
    )
    if inv.name == "rename":
        inv.code("perl", parsed.operands[0]) if parsed.operands and re.match(
            r"[sy]/|tr/", parsed.operands[0].text
        ) else None
        return NOTHING
    directory = next(iter(parsed.values("-t", "--target-directory")), None)
    sources = parsed.operands if directory is not None else parsed.operands[:-1]
    if inv.name == "install":
        for mode in parsed.values("-m", "--mode"):
            _mode(inv, mode.text, recursive=False)
    for source in sources:
        if inv.name != "ln":
            inv.read(source)
        if inv.name == "mv":
            _moved(inv, source, parsed.operands[-1])
    if inv.name in ("cp", "install", "ln") and any(source.text == "/dev/null" for source in sources):
        inv.ask("empties files")
    for target in _targets(inv, parsed.operands, directory):
        inv.write(target, None)
        _remember(inv, sources, target)
    if inv.name == "ln" and sources:
        _linked(inv, sources[0])
    return NOTHING


def _moved(inv: Invocation, source: Arg, destination: Arg) -> None:
    for place in inv.places(source):
        if is_broad(place) or re.search(r"(?:^|/)\.git$", place):
            inv.ask("moves a whole tree away: " + place)
        kind = write_kind(place)
        if kind is not None:
            inv.deny(f"moves {place} away: {kind.value}")
        elif place.startswith("~/") and place.count("/") == 1:
            inv.ask("moves a directory of the home away: " + place)
    leaves = any(is_temporary(place) or place == "/tmp" for place in inv.places(destination))
    if leaves and re.fullmatch(r"(?:\./)?[\w-]+/?", source.text):
        inv.ask("moves a directory out of the workspace: " + source.text)
    if destination.text == "/dev/null":
        inv.deny("moves files to /dev/null")


def _linked(inv: Invocation, source: Arg) -> None:
    """A link to a secret or to a protected place opens it under another name."""
    inv.read(source)
    for place in inv.places(source):
        kind = write_kind(place)
        if kind is not None and not place.startswith(("/usr/", "/opt/", "/bin/")):
            inv.ask(f"links to {place}: {kind.value}")


def _remember(inv: Invocation, sources: tuple[Arg, ...], target: Arg) -> None:
    if len(sources) != 1 or not target.known:
        return
    content = inv.written(sources[0])
    if content is not None:
        inv.engine.remember(target, inv.state, content)
    elif (inv.name == "install" and not sources[0].text.endswith((".sh", ".py"))) or (
        posixpath.splitext(sources[0].text)[1] != posixpath.splitext(target.text)[1] and inv.name == "mv"
    ):
        inv.engine.remember(target, inv.state, Out(None, frozenset({"moved"})))
    elif ("/" not in sources[0].text and handler_for(sources[0].text) is not None) or sources[0].text.startswith(
        ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/")
    ):
        for place in inv.places(target):
            inv.state.files[place] = (Out(sources[0].text, frozenset({"copy"})),)


@program("rsync", reads=False)
def rsync(inv: Invocation) -> None:
    """Copies trees; ``-e`` runs a program, ``--delete`` removes, another host receives."""
    parsed = inv.options(
        "eefTBM",
        "--rsh --rsync-path --exclude --include --files-from --filter --log-file --temp-dir --password-file "
        "--backup-dir --chmod --chown --out-format",
    )
    for value in parsed.values("-e", "--rsh", "--rsync-path"):
        if re.fullmatch(r"ssh(?: -[pi] ?[\w./~-]+| -o ?StrictHostKeyChecking=\w+)*", value.text):
            continue
        inv.ask("runs " + value.text.replace(UNKNOWN, "…"))
        inv.script(value)
    if parsed.has(
        "--delete",
        "--delete-before",
        "--delete-after",
        "--delete-during",
        "--delete-excluded",
        "--remove-source-files",
        "--del",
    ):
        inv.ask("deletes files at the destination or source")
    for source in parsed.operands[:-1]:
        inv.read(source)
    for target in parsed.operands[-1:]:
        if re.match(r"[^/]+:|rsync://", target.text) or any(re.match(r"[^/]+:", s.text) for s in parsed.operands[:-1]):
            inv.ask("copies to or from another machine")
        else:
            inv.write(target, None)
            if any(is_broad(place) and place != "." for place in inv.places(target)):
                inv.ask("writes over " + target.text)


@program("dd", reads=False)
def dd(inv: Invocation) -> Out | None:
    """Copies blocks between ``if=`` and ``of=``."""
    written = False
    for arg in inv.args:
        key, _, value = arg.text.partition("=")
        if key == "if":
            inv.read(arg.with_text(value))
        elif key == "of":
            written = True
            if not arg.known and arg.tags & {"stdin", "sub", "glob"}:
                inv.ask("writes over files whose names are not known")
            blank = any(re.match(r"if=/dev/(?:null|zero|u?random)$", text) for text in inv.texts)
            if "if=/dev/null" in inv.texts or (blank and any(is_precious(p) for p in inv.places(arg.with_text(value)))):
                inv.ask("empties a file")
            inv.write(arg.with_text(value))
    if (
        not any(text.startswith(("count=", "of=/dev/null")) for text in inv.texts)
        and written
        and any(re.match(r"if=/dev/(?:zero|u?random)", t) for t in inv.texts)
    ):
        inv.ask("writes without an end")
    return NOTHING if written else inv.stdin.derived("file")


@program("truncate", "fallocate", reads=False)
def truncate(inv: Invocation) -> None:
    """Cuts files; logs and temporary files may be cut."""
    parsed = inv.options("slro", "--size --length --reference --offset")
    if inv.name == "fallocate" and any(
        re.search(r"\d+(?:[TP]|\d\dG)", value.text) for value in parsed.values("-l", "--length")
    ):
        inv.ask("fills the disk")
    for target in parsed.operands:
        inv.write(target, None, "truncates")
        grows = any(re.fullmatch(r"\+?[1-9]\w*", value.text) for value in parsed.values("-s", "--size"))
        if (
            inv.name == "truncate"
            and not grows
            and not all(place.endswith((".log", ".out", ".tmp")) or is_temporary(place) for place in inv.places(target))
        ):
            inv.ask("empties " + target.text.replace(UNKNOWN, "…"))


@program("tee", "sponge", reads=False)
def tee(inv: Invocation) -> Out | None:
    """Writes its input to files and passes it on."""
    parsed = inv.options("")
    for target in parsed.operands:
        inv.write(target, None)
        inv.engine.remember(target, inv.state, inv.stdin, append=parsed.has("-a", "--append"))
    return inv.stdin


@program("touch", "mkdir", "mkfifo", reads=False)
def touch(inv: Invocation) -> None:
    """Creates files; an empty hook or settings file is harmless, protected system places are not."""
    parsed = inv.options("dtrm", "--date --reference --mode")
    for target in parsed.operands:
        for place in inv.places(target):
            kind = write_kind(place)
            if kind is not None and place.startswith(("/etc", "/usr", "/bin", "/sbin", "/lib", "/boot", "/dev/")):
                inv.ask(f"creates {place}: {kind.value}")


# -- permissions -------------------------------------------------------------------------------------


def _mode(inv: Invocation, mode: str, *, recursive: bool) -> None:
    if (re.fullmatch(r"0?[4-7][0-7]{3}", mode) and len(mode.lstrip("0")) == 4) or re.search(r"[+=][rwxXt]*s", mode):
        inv.deny("sets the set-user-id bit")
    elif re.fullmatch(r"[0-7]*[0-7]{2}[2367]", mode):
        if recursive:
            inv.deny("makes whole trees writable by everybody")
        else:
            inv.ask("makes files writable by everybody")
    elif re.search(r"(?:^|,)(?:[ug]*[oa][ugoa]*)[+=][rx]*w", mode):
        inv.ask("makes files writable by everybody")
    elif re.fullmatch(r"0+", mode) or (recursive and re.fullmatch(r"[0-3][0-7]{2}", mode)):
        inv.ask("takes all access away")


_PRIVATE_MODE = later(r"0?[0-7]00|[ug]?[+-=]?[rwxX]*|(?:go|g|o)-\w+")


@program("chmod", reads=False)
def chmod(inv: Invocation) -> None:
    """Changes permissions."""
    parsed = inv.options("", ("--reference",))
    recursive = parsed.has("-R", "--recursive")
    symbolic = [o.name for o in parsed if re.fullmatch(r"-[rwxXst]", o.name)]
    operands = parsed.operands if symbolic or parsed.has("--reference") else parsed.operands[1:]
    if not symbolic and parsed.operands:
        if not parsed.operands[0].known:
            inv.dynamic("sets a mode that is not known")
        _mode(inv, parsed.operands[0].text, recursive=recursive)
    for target in operands:
        _owned(inv, target, recursive)
        secret = any(read_kind(place) is Kind.SECRET for place in inv.places(target))
        if secret and not _PRIVATE_MODE.fullmatch(parsed.operands[0].text):
            inv.ask("opens a secret to others")


def _owned(inv: Invocation, target: Arg, recursive: bool) -> None:
    for place in inv.places(target):
        kind = write_kind(place)
        if (
            kind is not None
            and not place.startswith("~/.ssh/")
            and not place.startswith("~/.local/bin/")
            and not re.search(r"\.githooks/|\.husky/", place)
        ):
            inv.deny(f"changes the permissions of {place}: {kind.value}")
        elif recursive and ((is_broad(place) and place != ".") or (place.startswith("~") and place.count("/") < 2)):
            inv.ask("changes permissions of a whole tree: " + place)


@program(
    "chown chgrp chattr setfacl setcap chcon chflags lchown",
    reads=False,
)
def chown(inv: Invocation) -> None:
    """Changes owners and attributes."""
    parsed = inv.options("mMxXdk", "--from --reference --modify")
    recursive = parsed.has("-R", "--recursive")
    inv.ask("changes owners or attributes" + (" of whole trees" if recursive else ""))
    for target in parsed.operands:
        _owned(inv, target, recursive)


@program("patch", reads=False)
def patch(inv: Invocation) -> None:
    """Applies a patch; what it writes is judged when it is named."""
    parsed = inv.options("pdioBDFrVYz", "--strip --directory --input --output")
    for target in [*parsed.operands[:1], *parsed.values("-o", "--output"), *parsed.values("-d", "--directory")]:
        inv.write(target, None)
    _patched(inv)


_PATCH_TARGET = later(r"^(?:\+\+\+ (?:[ab]/)?|\*\*\* (?:Update|Add|Delete) File: |rename to )(\S+)", re.MULTILINE)


def _patched(inv: Invocation) -> None:
    for name in _PATCH_TARGET.findall(inv.stdin.text or "")[:200]:
        inv.write(Arg(name), None, "patches")


@program("apply_patch", "applypatch", reads=False)
def apply_patch(inv: Invocation) -> None:
    """The patch tool of some agents."""
    _patched(inv)
    for arg in inv.args:
        for name in _PATCH_TARGET.findall(arg.text)[:200]:
            inv.write(Arg(name), None, "patches")
