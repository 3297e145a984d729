"""git: everyday work passes; what destroys work, leaves the machine or runs a program does not."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..invocation import Invocation
from ..options_parser import Parsed
from ..paths import normalize
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Arg, Out

#: Configuration keys whose value is a program, a script or a place programs come from.
_KEY_RUNS = re.compile(
    r"(?i)core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|askpass|gitproxy|attributesfile|excludesfile|worktree|alternaterefscommand)|alias\..*|pager\..*|sequence\.editor|credential\..*|credential"
    r"|diff\..*|difftool\..*|mergetool\..*|merge\..*\.driver|filter\..*|gpg\..*|gpg\.program|init\.templatedir|include\.path|includeif\..*|url\..*|http\..*|https\..*|protocol\..*|receive\..*|uploadpack\..*|uploadarchive\..*"
    r"|remote\..*\.(?:uploadpack|receivepack|vcs|url|pushurl|proxy)|browser\..*|web\.browser|man\..*|submodule\..*|trailer\..*|tar\..*|sendemail\..*|interactive\.difffilter|extensions\..*|blame\..*file|safe\.directory|instaweb\..*|guitool\..*|imap\..*|ssh\.variant|hook\..*|transfer\.\w*fsck\w*"
)
_HARMLESS_VALUE = re.compile(
    r"(?:cat|less(?: -\w+)*|more|true|false|never|always|auto|delta|vim?|nvim|nano|emacs|code --wait|simple|current|histogram|patience|minimal|myers|zdiff3|diff3|store|copies|renames|\d*)$"
)
_READ_CONFIG = (
    "--get",
    "--get-all",
    "--get-regexp",
    "--list",
    "-l",
    "--get-urlmatch",
    "--show-origin",
    "get",
    "list",
    "--get-color",
    "--get-colorbool",
)

_VALUES = {
    "commit": (
        "mFCct",
        (
            "--message",
            "--file",
            "--author",
            "--date",
            "--template",
            "--trailer",
            "--cleanup",
            "--reuse-message",
            "--fixup",
            "--squash",
        ),
    ),
    "push": ("o", ("--push-option", "--receive-pack", "--exec", "--repo")),
    "tag": ("mFun", ("--message", "--file", "--local-user", "--sort", "--format")),
    "stash": ("m", ("--message",)),
    "clone": (
        "obcuj",
        (
            "--origin",
            "--branch",
            "--config",
            "--upload-pack",
            "--depth",
            "--template",
            "--reference",
            "--separate-git-dir",
            "--filter",
            "--jobs",
        ),
    ),
    "log": (
        "nSGLO",
        ("--author", "--since", "--until", "--grep", "--format", "--pretty", "--max-count", "--after", "--before"),
    ),
    "rebase": ("xsX", ("--exec", "--onto", "--strategy", "--strategy-option")),
    "checkout": ("bB", ("--orphan", "--conflict")),
    "switch": ("cC", ("--create", "--force-create", "--orphan")),
    "restore": ("s", ("--source",)),
    "grep": ("efABCm", ("--max-depth", "--threads")),
    "merge": ("mFsX", ("--message", "--strategy", "--into-name")),
    "worktree": ("bB", ("--reason",)),
    "branch": ("u", ("--set-upstream-to", "--sort", "--format", "--contains", "--merged")),
    "clean": ("e", ("--exclude",)),
    "fetch": ("oj", ("--upload-pack", "--depth", "--refmap", "--jobs")),
    "difftool": ("xtg", ("--extcmd", "--tool")),
    "archive": ("o", ("--output", "--format", "--prefix", "--remote", "--exec")),
    "diff": ("SGOlU", ("--output", "--diff-filter", "--stat")),
    "ls-remote": ("o", ("--upload-pack", "--exec", "--sort")),
    "format-patch": ("oNv", ("--output-directory",)),
    "gc": ("", ()),
    "apply": ("pC", ("--directory", "--include", "--exclude")),
}

_ASK_ALWAYS = {
    "filter-branch": "rewrites history",
    "filter-repo": "rewrites history",
    "update-ref": "moves references by hand",
    "send-email": "sends mail",
    "imap-send": "sends mail",
    "daemon": "serves the repository",
    "instaweb": "serves the repository",
    "credential": "handles credentials",
    "prune": "removes objects",
    "fast-import": "writes history",
    "replace": "replaces objects",
    "http-backend": "serves the repository",
    "shell": "starts a shell",
    "checkout-index": "overwrites files",
    "p4": "runs another version control system",
    "svn": "runs another version control system",
    "upload-pack": "serves the repository",
    "receive-pack": "serves the repository",
    "update-server-info": "serves the repository",
    "mergetool": "runs a configured program",
}


@program("git", "hub", "yadm", reads=False)
def git(inv: Invocation) -> Out | None:
    """Judges global options, then the subcommand."""
    args = list(inv.args)
    while args and args[0].text.startswith("-"):
        option = args.pop(0)
        name, equals, value = option.text.partition("=")
        taken = (
            option.with_text(value)
            if equals
            else (
                args.pop(0)
                if name
                in (
                    "-c",
                    "-C",
                    "--git-dir",
                    "--work-tree",
                    "--namespace",
                    "--config-env",
                    "--exec-path",
                    "--super-prefix",
                )
                and args
                and (equals or name != "--exec-path")
                else None
            )
        )
        _global_option(inv, name, taken)
    if not args:
        return ANYTHING
    if not args[0].known:
        inv.dynamic("runs a subcommand that is not known")
        return ANYTHING
    verb, rest = args[0].text, tuple(args[1:])
    if verb.startswith("credential"):
        verb = "credential"
    if verb in _ASK_ALWAYS:
        inv.ask(_ASK_ALWAYS[verb])
    inner = inv.with_args(rest)
    parsed = inner.options(*_VALUES.get(verb, ("", ())))
    _common(inner, verb, parsed)
    judge = _VERBS.get(verb)
    result = judge(inner, parsed) if judge else None
    for arg in (
        rest
        if verb
        not in ("commit", "tag", "stash", "grep", "log", "config", "notes", "check-ignore", "merge", "add", "rm")
        else ()
    ):
        _revision_path(inner, arg)
    if verb == "rev-parse" and "--show-toplevel" in inner.texts:
        return Out(".\n")
    return result if isinstance(result, Out) else Out(None, frozenset({"git"}))


def _revision_path(inv: Invocation, arg: Arg) -> None:
    if "\n" not in arg.text and not arg.text.startswith("-"):
        inv.read(arg.with_text(arg.text.split(":", 1)[1]) if ":" in arg.text and "//" not in arg.text else arg)


def _global_option(inv: Invocation, name: str, value: Arg | None) -> None:
    if name == "-c" and value is not None:
        key, _, setting = value.text.partition("=")
        _config(inv, key, value.with_text(setting))
    elif name == "--config-env":
        inv.ask("takes configuration from a variable")
    elif name == "--exec-path" and value is not None:
        inv.ask("takes its programs from another directory")
    elif name in ("--git-dir", "--work-tree") and value is not None and value.text.startswith("/tmp"):
        inv.ask("uses a repository from a temporary directory")
    elif name.startswith("-c") and not name.startswith("--") and len(name) > 2:
        _config(inv, name[2:], value or Arg(""))


def _config(inv: Invocation, key: str, value: Arg) -> None:
    if UNKNOWN in key:
        inv.dynamic("sets a configuration key that is not known")
    elif _KEY_RUNS.fullmatch(key):
        if key.lower().startswith("alias.") and not value.text.startswith("!") and value.known:
            inv.run([Arg("git"), *(Arg(word) for word in value.text.split())])
        elif not _HARMLESS_VALUE.fullmatch(value.text) or (
            re.match(r"(?i)credential|core\.hookspath|core\.fsmonitor$", key) and value.text not in ("", "false")
        ):
            inv.ask(f"sets {key}, which makes git run or load something")


def _common(inv: Invocation, verb: str, parsed: Parsed) -> None:
    """Options that mean the same for many subcommands."""
    if verb in (
        "clone",
        "fetch",
        "pull",
        "ls-remote",
        "push",
        "archive",
        "submodule",
        "remote",
        "fetch-pack",
        "send-pack",
    ):
        if parsed.has("--upload-pack", "--receive-pack", "--exec") or (verb == "clone" and parsed.has("-u")):
            inv.ask("runs another program on the other side")
        if any("ext::" in text or text.startswith("fd::") for text in inv.texts):
            inv.ask("uses a transport that runs a command")
        if verb == "pull" and any("://" in text for text in inv.texts):
            inv.ask("merges from a repository that is not a configured remote")
        if any(text.startswith("-" + UNKNOWN) for text in inv.texts):
            inv.dynamic("gets an option that is not known")
    if verb not in ("commit", "tag", "stash", "notes"):
        for value in parsed.values("--output", "--output-directory"):
            inv.write(value)
    for value in [*parsed.values("-x", "--exec", "--extcmd")] if verb in ("rebase", "difftool") else []:
        inv.script(value)
        if verb == "difftool":
            inv.ask("runs a program on every difference")
    if verb == "grep" and (parsed.has("-O", "--open-files-in-pager") or any(re.match(r"-O", t) for t in inv.texts)):
        inv.ask("opens its results with a program")
    if not all(arg.known or arg.tags for arg in inv.args) and verb in ("push", "reset", "clean", "branch"):
        inv.dynamic("gets arguments that are not known")
    if any(arg.split and not arg.known and not arg.tags & {"glob"} for arg in inv.args) and verb in (
        "push",
        "reset",
        "clean",
    ):
        inv.dynamic("gets arguments that are not known")


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
    if names[:1] and names[0] in ("remove", "rm", "set-url", "rename", "set-head", "prune", "update"):
        if names[0] in ("remove", "rm", "set-url"):
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
    if any(text in _READ_CONFIG for text in inv.texts):
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
    if parsed.has("--unset", "--unset-all", "--remove-section", "--rename-section") or inv.texts[:1] == ["unset"]:
        return
    if len(words) >= 2:
        _config(inv, words[0].text, words[1])


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
        _config(inv, key, value.with_text(setting))
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
    for arg in p.operands:
        _revision_path(inv, arg)


def _init(inv: Invocation, p: Parsed) -> None:
    if p.has("--template"):
        inv.ask("installs hooks from a template")


def _hook(inv: Invocation, p: Parsed) -> None:
    inv.ask("runs a hook")


def _gc_maintenance(inv: Invocation, p: Parsed) -> None:
    if inv.texts[:1] == ["start"] or inv.texts[:1] == ["register"]:
        inv.ask("installs a background job")


_VERBS: dict[str, Callable[[Invocation, Parsed], None]] = {
    "push": _push,
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


@program(
    "hg svn jj bzr fossil bfg git-filter-repo git-filter-branch",
    reads=False,
)
def other_vcs(inv: Invocation) -> None:
    """Other version control: what throws work away asks."""
    texts = inv.texts
    verbs = {"revert", "purge", "strip", "--force", "abandon", "rollback", "undo", "backout", "histedit"}
    if inv.name in ("bfg", "git-filter-repo", "git-filter-branch"):
        inv.ask("rewrites history")
    if set(texts[:2]) & verbs or (texts[:1] in (["update"], ["up"], ["checkout"]) and set(texts) & {"-C", "--clean"}):
        inv.ask("throws work away")
    if any(text.startswith("--config") for text in texts) or (
        texts[:2] == ["git", "push"] and {"--deleted", "--all"} & set(texts)
    ):
        inv.ask("configures programs to run or removes remote branches")
    if texts[:1] in (["delete"], ["push"]) and {"-f", "--force", "delete"} & set(texts):
        inv.ask("removes or overwrites")
