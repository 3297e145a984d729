"""The subcommands of git that can destroy, publish or run something."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..invocation import Invocation
from ..options_parser import Parsed
from ..paths import normalize
from ..values import Arg
from .git_config import READ_CONFIG, judge_setting, revision_path

# -- subcommands -------------------------------------------------------------------------------------


def _push(inv: Invocation, p: Parsed) -> None:
    if p.has("-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror"):
        inv.ask("overwrites the remote's history")
    if p.has("-d", "--delete", "--prune"):
        inv.ask("deletes remote branches or tags")
    if p.has("--all", "--branches"):
        inv.ask("publishes every branch")
    remote, *refs = [arg.text for arg in p.operands] or [""]
    for ref in refs:
        if ref.startswith("+") or re.match(r"\+?:.", ref):
            inv.ask("forces or deletes a remote reference")
    if re.search(r"://|^[\w.-]+@[\w.-]+:|^[\w-]+\.[\w.-]+:|^/|^\.\.", remote) or remote in inv.state.remotes:
        inv.ask("pushes to a repository that is not a configured remote")


def _reset(inv: Invocation, p: Parsed) -> None:
    if p.has("--hard", "--merge", "--keep"):
        inv.ask("throws away changes")


def _clean(inv: Invocation, p: Parsed) -> None:
    if p.has("-n", "--dry-run") and not p.has("-f", "--force"):
        return
    if not p.has("-n", "--dry-run"):
        inv.ask("removes untracked files")


_BROAD = (".", "*", ":/", "./", "..", ":", "/", "~")


def _checkout(inv: Invocation, p: Parsed) -> None:
    if p.has("-f", "--force", "-B", "--discard-changes", "-C", "--force-create"):
        inv.ask("throws away changes or moves a branch")
    paths_only = "--" in inv.texts
    names = inv.texts[inv.texts.index("--") + 1 :] if paths_only else [a.text for a in p.operands]
    [t for t in inv.texts[: inv.texts.index("--")] if not t.startswith("-")] if paths_only else []
    broad = any(
        name.rstrip("/") in _BROAD or "*" in name or normalize(name).rstrip("*/") in (".", "", "~", "/")
        for name in names
    )
    if broad or (paths_only and any(_is_directory(name) for name in names)):
        inv.ask("throws away changes to many files")
    for name in names if paths_only else []:
        inv.write(Arg(name), None, "replaces")


def _is_directory(name: str) -> bool:
    """Guess from the name alone: files have a suffix or a well-known name."""
    base = name.rstrip("/").rsplit("/", 1)[-1]
    return name.endswith("/") or ("." not in base and not re.match(r"[A-Z][\w-]*$", base))


def _restore(inv: Invocation, p: Parsed) -> None:
    if p.has("-S", "--staged") and not p.has("-W", "--worktree"):
        return
    _checkout(inv, p)
    for operand in p.operands:
        inv.write(operand, None, "replaces")
        if _is_directory(operand.text):
            inv.ask("throws away changes to many files")


def _branch(inv: Invocation, p: Parsed) -> None:
    if p.has("-D", "-M", "-C") or (p.has("-f", "--force")):
        inv.ask("deletes or moves a branch by force")


def _tag(inv: Invocation, p: Parsed) -> None:
    if p.has("-d", "--delete") or p.has("-f", "--force"):
        inv.ask("deletes or moves a tag")


def _stash(inv: Invocation, p: Parsed) -> None:
    if p.operands and p.operands[0].text in ("drop", "clear"):
        inv.ask("throws stashed changes away")


def _reflog(inv: Invocation, p: Parsed) -> None:
    if p.operands and p.operands[0].text in ("expire", "delete"):
        inv.ask("removes the way back to old commits")


def _gc(inv: Invocation, p: Parsed) -> None:
    if any(text.startswith("--prune") for text in inv.texts) or p.has("--aggressive"):
        inv.ask("removes objects for good")


def _remote(inv: Invocation, p: Parsed) -> None:
    names = [arg.text for arg in p.operands]
    if names[:1] and names[0] in ("remove", "rm", "set-url"):
        inv.ask("changes where pushes go")
    if names[:1] == ["add"] and len(names) > 1:
        inv.state.remotes |= {names[1]}


def _rm(inv: Invocation, p: Parsed) -> None:
    if p.has("--cached") or p.has("-n", "--dry-run"):
        return
    if p.has("-r") or p.has("-f", "--force"):
        inv.ask("removes tracked files and directories")
    for target in p.operands:
        inv.write(target, None, "removes")


def _mv(inv: Invocation, p: Parsed) -> None:
    for target in p.operands:
        inv.write(target, None, "moves")


def _worktree(inv: Invocation, p: Parsed) -> None:
    if p.operands and p.operands[0].text in ("remove", "prune") and p.has("-f", "--force"):
        inv.ask("removes a working tree by force")


def _submodule(inv: Invocation, p: Parsed) -> None:
    verb = p.operands[0].text if p.operands else ""
    if verb == "foreach":
        words = list(inv.args[inv.texts.index("foreach") + 1 :])
        while words and words[0].text.startswith("-"):
            words.pop(0)
        if len(words) == 1:
            inv.script(words[0])
        elif words:
            inv.run(words)
    elif verb == "deinit":
        inv.ask("removes submodules from the working tree")
    elif verb in ("set-url", "add"):
        inv.ask("brings another repository in")


def _bisect(inv: Invocation, p: Parsed) -> None:
    if inv.texts[:1] == ["run"]:
        inv.run(inv.args[1:])


def _config_verb(inv: Invocation, p: Parsed) -> None:
    if any(text in READ_CONFIG for text in inv.texts):
        if any(re.search(r"(?i)extraheader|password|token|credential", text) for text in inv.texts):
            inv.ask("prints stored credentials")
        return
    if p.has("-e", "--edit") or inv.texts[:1] == ["edit"]:
        inv.ask("opens the configuration in an editor")
        return
    parsed = inv.options("f", "--file --blob --type --default")
    for value in parsed.values("-f", "--file"):
        inv.write(value, None)
    words = [a for a in parsed.operands if a.text not in ("set", "unset", "--add")]
    if parsed.has("--remove-section"):
        inv.ask("removes a section of the configuration")
    if parsed.has("--unset", "--unset-all", "--remove-section", "--rename-section") or inv.texts[:1] == ["unset"]:
        return
    if len(words) >= 2:
        judge_setting(inv, words[0].text, words[1])


def _commit(inv: Invocation, p: Parsed) -> None:
    for value in p.values("-F", "--file", "-t", "--template"):
        if value.text != "-":
            inv.read(value)


def _add(inv: Invocation, p: Parsed) -> None:
    for arg in p.operands:
        inv.read(arg)


def _archive(inv: Invocation, p: Parsed) -> None:
    for value in p.values("-o"):
        inv.write(value)
    if p.has("--remote"):
        inv.ask("runs git on another side")


def _format_patch(inv: Invocation, p: Parsed) -> None:
    for value in p.values("-o"):
        inv.write(value)


def _apply(inv: Invocation, p: Parsed) -> None:
    from .files import _patched

    _patched(inv)
    if p.has("--unsafe-paths"):
        inv.ask("writes outside the repository")


def _read_tree(inv: Invocation, p: Parsed) -> None:
    if p.has("--reset", "-u"):
        inv.ask("throws away changes")


def _symbolic_ref(inv: Invocation, p: Parsed) -> None:
    if p.has("-d", "--delete") or len(p.operands) > 1:
        inv.ask("moves references by hand")


def _clone(inv: Invocation, p: Parsed) -> None:
    for value in p.values("-c", "--config"):
        key, _, setting = value.text.partition("=")
        judge_setting(inv, key, value.with_text(setting))
    if p.has("--template"):
        inv.ask("installs hooks from a template")
    if p.operands:
        destination = (
            p.operands[1]
            if len(p.operands) > 1
            else Arg(re.sub(r"\.git$", "", p.operands[0].text.rstrip("/").rsplit("/", 1)[-1]))
        )
        inv.write(destination, None)
        if len(p.operands) > 1 or p.operands[0].known:
            for place in inv.places(destination):
                inv.state.unpacked |= {("net", place)}


def _lfs(inv: Invocation, p: Parsed) -> None:
    if inv.texts[:1] and inv.texts[0] in ("prune", "migrate"):
        inv.ask("rewrites or removes large files")


def _bundle(inv: Invocation, p: Parsed) -> None:
    if inv.texts[:1] == ["create"]:
        for target in p.operands[1:2]:
            inv.write(target, None)


def _subtree(inv: Invocation, p: Parsed) -> None:
    if inv.texts[:1] and inv.texts[0] in ("add", "pull") and any("://" in text or "@" in text for text in inv.texts):
        inv.ask("brings another repository in")
    if inv.texts[:1] == ["push"]:
        inv.ask("pushes a subtree")


def _log(inv: Invocation, p: Parsed) -> None:
    if not p.has("-p", "-u", "--patch", "-L", "--patch-with-stat", "-c", "--cc"):
        return
    for arg in p.operands:
        revision_path(inv, arg)


def _init(inv: Invocation, p: Parsed) -> None:
    if p.has("--template"):
        inv.ask("installs hooks from a template")


def _fetch(inv: Invocation, p: Parsed) -> None:
    if any(re.match(r"\+[^:]+:(?!refs/remotes/).", arg.text) for arg in p.operands):
        inv.ask("overwrites a local branch")
    if inv.name != "fetch" and p.has("-f", "--force"):
        inv.ask("overwrites local branches or tags")


def _hook(inv: Invocation, p: Parsed) -> None:
    inv.ask("runs a hook")


def _gc_maintenance(inv: Invocation, p: Parsed) -> None:
    if inv.texts[:1] == ["start"] or inv.texts[:1] == ["register"]:
        inv.ask("installs a background job")


VERBS: dict[str, Callable[[Invocation, Parsed], None]] = {
    "push": _push,
    "fetch": _fetch,
    "pull": _fetch,
    "reset": _reset,
    "clean": _clean,
    "checkout": _checkout,
    "switch": _checkout,
    "restore": _restore,
    "branch": _branch,
    "tag": _tag,
    "stash": _stash,
    "reflog": _reflog,
    "gc": _gc,
    "remote": _remote,
    "rm": _rm,
    "mv": _mv,
    "worktree": _worktree,
    "submodule": _submodule,
    "bisect": _bisect,
    "config": _config_verb,
    "commit": _commit,
    "add": _add,
    "archive": _archive,
    "format-patch": _format_patch,
    "apply": _apply,
    "am": _apply,
    "read-tree": _read_tree,
    "symbolic-ref": _symbolic_ref,
    "clone": _clone,
    "lfs": _lfs,
    "hook": _hook,
    "init": _init,
    "bundle": _bundle,
    "subtree": _subtree,
    "log": _log,
    "maintenance": _gc_maintenance,
}
