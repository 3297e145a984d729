"""JavaScript's package managers."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, Arg, Out
from .sources import REPO_SHORTHAND, any_option, judge_sources


@program(
    "npm pnpm yarn bun cnpm tnpm lerna nx turbo corepack",
    reads=False,
)
def npm(inv: Invocation) -> Out | None:
    """JavaScript's package managers."""
    texts = inv.texts
    words = [text for text in texts if not text.startswith("-")]
    verb = words[0] if words else ""
    if inv.name == "bun" and (
        verb
        not in (
            "install",
            "i",
            "add",
            "a",
            "run",
            "x",
            "test",
            "build",
            "remove",
            "rm",
            "update",
            "link",
            "publish",
            "pm",
            "create",
            "init",
            "upgrade",
            "outdated",
        )
        and inv.args
    ):
        from .javascript import javascript

        return javascript(inv)
    if verb == "npm" and inv.name == "yarn":
        words, verb = words[1:], words[1] if len(words) > 1 else ""
    if any_option(
        inv,
        "--registry",
        "--userconfig",
        "--globalconfig",
        "--script-shell",
        "--node-options",
        "--shell",
        "--editor",
        "--viewer",
        "--use-yarnrc",
        "--ignore-scripts-x",
    ):
        inv.ask("uses another registry or other settings")
    if verb in (
        "publish",
        "unpublish",
        "deprecate",
        "owner",
        "access",
        "token",
        "login",
        "adduser",
        "add-user",
        "logout",
        "dist-tag",
        "team",
        "org",
        "star",
        "hook",
        "profile",
        "stage",
    ) and not (
        verb in ("owner", "access", "dist-tag", "team", "org", "token")
        and words[1:2]
        and words[1] in ("ls", "list")
        and verb != "token"
    ):
        inv.ask(f"{verb} changes the registry or an account")
    changes = words[1:2] and words[1] in ("set", "delete", "edit", "fix", "unset")
    if verb in ("set", "set-script") or (changes and (verb == "config" or (verb == "c" and inv.name == "npm"))):
        inv.ask("changes the settings of the package manager")
    if verb == "pkg" and words[1:2] == ["set"]:
        for arg in inv.args:
            if arg.text.startswith("scripts.") and "=" in arg.text:
                inv.ask("changes the scripts of the package") if re.match(
                    r"scripts\.(?:pre|post|install|prepare)", arg.text
                ) else None
                inv.script(arg.with_text(arg.text.split("=", 1)[1]))
    if verb in ("config", "get") and any("auth" in word.lower() or "token" in word.lower() for word in words):
        inv.ask("prints credentials of the registry")
    if verb == "plugin" and words[1:2] == ["import"]:
        inv.ask("installs a plugin")
    if verb in (
        "install",
        "i",
        "in",
        "add",
        "a",
        "ci",
        "update",
        "up",
        "upgrade",
        "link",
        "isntall",
        "global",
        "dlx",
        "create",
        "init",
        "exec",
        "x",
        "install-test",
        "it",
    ):
        operands = tuple(a for a in inv.args[texts.index(verb) + 1 :] if not a.text.startswith("-"))
        judge_sources(inv, inv.args)
        if verb in ("install", "i", "add", "dlx", "exec", "x", "global") and any(
            REPO_SHORTHAND.match(a.text) or re.search(r".@(?:npm:|[\w-]+/[\w.-]+$|git|github:)", a.text)
            for a in operands
        ):
            inv.ask("installs from a repository")
    if verb in ("exec", "x", "dlx", "create", "explore"):
        return _exec(inv, verb)
    if verb in ("install", "i", "ci", "test", "run", "start", "rebuild", "build", "t", "tst", "run-script"):
        _scripts(inv, words)
    judge_words = " ".join(words)
    from .databases import judge_task

    judge_task(inv, judge_words)
    return Out(None, frozenset({"npm"}))


def _exec(inv: Invocation, verb: str) -> Out | None:
    rest = list(inv.args[inv.texts.index(verb) + 1 :])
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.text in ("-c", "--call", "--shell-mode") and rest:
            return inv.script(rest[0])
        if option.text in ("-p", "--package") and rest:
            rest.pop(0)
        if option.text == "--":
            break
    if verb == "explore" and rest:
        rest = rest[1:]
        rest = rest[1:] if rest and rest[0].text == "--" else rest
    return inv.run(rest) if rest else ANYTHING


def _scripts(inv: Invocation, words: list[str]) -> None:
    """When this command wrote package.json, the scripts in it are about to run."""
    content = inv.written(Arg("package.json"))
    if content is None:
        return
    if content.text is None:
        if "net" in content.tags or "filtered" not in content.tags:
            inv.ask("runs scripts of a package.json this command wrote")
        return
    import json

    try:
        scripts = json.loads(content.text).get("scripts", {})
    except (ValueError, AttributeError):
        return
    for script in scripts.values() if isinstance(scripts, dict) else ():
        if isinstance(script, str):
            inv.script(script)


@program("npx", reads=False)
def npx(inv: Invocation) -> Out | None:
    """Runs a package's program."""
    p = inv.options(
        "pcw",
        "--package --call --workspace --registry --node-options --shell --userconfig",
        stop=True,
    )
    for value in p.values("-c", "--call"):
        inv.script(value)
    if p.has("--registry", "--node-options", "--shell", "--userconfig"):
        inv.ask("uses another registry or other settings")
    judge_sources(inv, (*p.values("-p", "--package"), *p.rest[:1]), "runs a package from outside the registry")
    if p.rest and (REPO_SHORTHAND.match(p.rest[0].text) or not p.rest[0].known):
        inv.ask("runs a package from a repository")
    if not p.rest:
        return ANYTHING
    head = re.sub(r"(?<=.)@.*", "", p.rest[0].text) if not p.rest[0].text.startswith("@") else p.rest[0].text
    if "/" in head and not head.startswith("@"):
        return ANYTHING
    return inv.run([p.rest[0].with_text(head), *p.rest[1:]])
