"""git: everyday work passes; what destroys work, leaves the machine or runs a program does not."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..options_parser import Parsed
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Arg, Out
from .git_config import judge_setting, revision_path
from .git_verbs import VERBS

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
    if inv.name == "hub" and verb in ("delete", "release", "gist", "fork", "create", "api"):
        inv.ask(f"{verb} changes something at the host")
    if verb.startswith("credential"):
        verb = "credential"
    if verb in _ASK_ALWAYS:
        inv.ask(_ASK_ALWAYS[verb])
    inner = inv.with_args(rest)
    parsed = inner.options(*_VALUES.get(verb, ("", ())))
    _common(inner, verb, parsed)
    judge = VERBS.get(verb)
    result = judge(inner, parsed) if judge else None
    for arg in (
        rest
        if verb
        not in ("commit", "tag", "stash", "grep", "log", "config", "notes", "check-ignore", "merge", "add", "rm")
        else ()
    ):
        revision_path(inner, arg)
    if verb == "rev-parse" and "--show-toplevel" in inner.texts:
        return Out(".\n")
    return result if isinstance(result, Out) else Out(None, frozenset({"git"}))


def _global_option(inv: Invocation, name: str, value: Arg | None) -> None:
    if name == "-c" and value is not None:
        key, _, setting = value.text.partition("=")
        judge_setting(inv, key, value.with_text(setting))
    elif name == "--config-env":
        inv.ask("takes configuration from a variable")
    elif name == "--exec-path" and value is not None:
        inv.ask("takes its programs from another directory")
    elif name in ("--git-dir", "--work-tree") and value is not None and value.text.startswith("/tmp"):
        inv.ask("uses a repository from a temporary directory")
    elif name.startswith("-c") and not name.startswith("--") and len(name) > 2:
        judge_setting(inv, name[2:], value or Arg(""))


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
    if texts[:1] == ["import"] and inv.name == "svn":
        inv.ask("publishes a tree")
    if texts[:1] in (["checkout"], ["co"], ["clone"]) or texts[:2] == ["git", "clone"]:
        operands = [text for text in texts if not text.startswith("-")]
        for place in inv.places(Arg(operands[-1].rstrip("/").rsplit("/", 1)[-1])):
            inv.state.unpacked |= {("net", place)}
    if texts[:1] in (["delete"], ["push"]) and {"-f", "--force", "delete"} & set(texts):
        inv.ask("removes or overwrites")
