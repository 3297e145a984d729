"""Package managers: names from the usual registry pass; other sources, publishing and configuration ask."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, Arg, Out
from .sources import any_option, judge_sources


@program("cargo", "rustup", "cross", reads=False)
def cargo(inv: Invocation) -> Out | None:
    """Rust's package manager."""
    words = [text for text in inv.texts if not text.startswith(("-", "+"))]
    verb = words[0] if words else ""
    for index, text in enumerate(inv.texts):
        if text.startswith("--config"):
            value = text.partition("=")[2] or (inv.texts[index + 1] if index + 1 < len(inv.texts) else "")
            if re.search(r"wrapper|linker|runner|rustc|alias|registr|source|credential|rustflags|^[./~]", value):
                inv.ask("makes cargo run or load something")
    if re.search(r"linker=|-C\s*linker|runner=", " ".join(inv.texts)):
        inv.ask("makes cargo run a program")
    if verb in ("publish", "yank", "owner", "login", "logout") and "--dry-run" not in inv.texts:
        inv.ask("changes the registry or an account")
    if verb in ("install", "add") and any_option(inv, "--git", "--index", "--registry"):
        inv.ask("installs from outside the usual registry")
    if inv.name == "rustup" and words[:1] == ["run"] and len(words) > 2:
        return inv.run(inv.args[inv.texts.index(words[2]) :])
    if inv.name == "rustup" and words[:2] == ["self", "uninstall"]:
        inv.ask("removes the toolchain")
    return _written_source(
        inv, verb in ("run", "test", "build", "check", "bench"), "src/main.rs", "build.rs", "src/lib.rs"
    )


def _written_source(inv: Invocation, runs: bool, *names: str) -> Out | None:
    if runs:
        for name in names:
            inv.run_file(Arg(name), "c")
    return ANYTHING


@program("go", "gofmt", "goimports", reads=False)
def go(inv: Invocation) -> Out | None:
    """Go: running or installing somebody's module, and programs around the tool chain."""
    texts = inv.texts
    verb = texts[0] if texts else ""
    for index, text in enumerate(texts):
        option, _, attached = text.partition("=")
        if option.lstrip("-") in ("toolexec", "exec", "vettool") and option.startswith("-"):
            inv.ask("runs a program around the tool chain")
            inv.script(attached or (texts[index + 1] if index + 1 < len(texts) else "true"))
    if re.search(r"-extld|-linkmode", " ".join(texts)):
        inv.ask("links with another program")
    if texts[:2] == ["mod", "edit"] and any(text.startswith("-replace") for text in texts):
        inv.ask("replaces a module by another one")
    if verb == "env" and any(text in ("-w", "-u") for text in texts):
        inv.ask("changes the settings of go")
    if verb in ("run", "install") and any("@" in text and not text.startswith(("./", "-")) for text in texts[1:]):
        inv.ask("runs or installs a module from the network")
    if verb == "get" and any(
        re.match(r"[\w-]+(?:\.[\w-]+)+/", text) and not _MODULE_HOSTS.search(text.split("/", 1)[0])
        for text in texts[1:]
    ):
        inv.ask("takes a module from a host that is not one of the usual ones")
    if verb == "generate":
        inv.ask("runs the generators named in comments") if any(
            "written" in out.tags for outs in inv.state.files.values() for out in outs
        ) else None
    if verb == "clean" and any(text in ("-modcache", "-cache") for text in texts):
        return ANYTHING
    if verb in ("run", "test", "build"):
        for arg in inv.args[1:]:
            if arg.text.endswith(".go"):
                inv.run_file(arg, "go")
            elif arg.text in (".", "./..."):
                inv.run_file(Arg("main.go"), "go")
    return ANYTHING


@program("gem", "bundle", "bundler", reads=False)
def gem(inv: Invocation) -> Out | None:
    """Ruby's package managers."""
    words = [text for text in inv.texts if not text.startswith("-")]
    verb = words[0] if words else ""
    if verb in ("push", "yank", "owner", "signin", "signout") or (
        verb == "sources" and any_option(inv, "--add", "-a", "--remove", "-r", "--clear-all", "-c")
    ):
        inv.ask("changes the registry, an account or the sources")
    if verb == "add" and any_option(inv, "--git", "--github", "--source", "--path"):
        inv.ask("installs from another source")
    if verb in ("install", "update", "fetch"):
        if any_option(inv, "--source", "-s", "--clear-sources"):
            inv.ask("installs from another source")
        judge_sources(inv, inv.args)
    if verb == "config" and len(words) > 2 and words[1] not in ("get", "list"):
        value = " ".join(words)
        if re.search(r"mirror|://|build\.", value):
            inv.ask("changes where packages come from")
    if any(re.match(r"--gemfile[= ]?(?:/|$)", text) for text in inv.texts) or "NoSecurity" in inv.texts:
        inv.ask("uses another Gemfile or no checks")
    if verb == "exec":
        rest = inv.args[inv.texts.index("exec") + 1 :]
        return inv.run(rest) if rest else ANYTHING
    return ANYTHING


@program("port", reads=False)
def brew(inv: Invocation) -> Out | None:
    """Homebrew."""
    words = [text for text in inv.texts if not text.startswith("-")]
    verb = words[0] if words else ""
    if verb in ("tap", "untap") and len(words) > 1:
        inv.ask("changes where packages come from")
    if verb in ("uninstall", "remove", "rm", "services", "unlink", "autoremove", "zap") and words[1:2] not in (
        ["list"],
        ["info"],
    ):
        inv.ask("removes packages or changes services")
    if verb in ("install", "reinstall", "upgrade", "fetch"):
        judge_sources(inv, inv.args)
        if "--no-quarantine" in inv.texts or any(word.endswith(".rb") for word in words):
            inv.ask("installs without checks or from a file")
        if any(word.count("/") >= 2 for word in words[1:]):
            inv.ask("installs from a tap")
    if verb in ("sh", "irb", "ruby", "bundle-exec"):
        inv.ask("runs code")
    return Out("/usr/local\n") if verb == "--prefix" else ANYTHING


_CHANNELS = later(
    r"(?:conda-forge|bioconda|pytorch|nvidia|defaults|anaconda|main|r|rapidsai|intel|fastai|huggingface|plotly|xformers|dglteam|pyg|esri|astropy)(?:[/:].*)?"
)
_MODULE_HOSTS = later(
    r"(?:github\.com|gitlab\.com|bitbucket\.org|golang\.org|gopkg\.in|go\.uber\.org|google\.golang\.org|k8s\.io|sigs\.k8s\.io|cloud\.google\.com|gorm\.io|modernc\.org|"
    r"go\.opentelemetry\.io|go\.mongodb\.org|honnef\.co|mvdan\.cc|rsc\.io|go\.etcd\.io|goa\.design|entgo\.io|gotest\.tools|gonum\.org|helm\.sh|charm\.land|filippo\.io|nhooyr\.io|connectrpc\.com|buf\.build|dario\.cat|zombiezen\.com)(?:/|$)"
)


def conda(inv: Invocation) -> Out | None:
    """conda and mamba."""
    words = [text for text in inv.texts if not text.startswith("-")]
    verb = words[0] if words else ""
    if verb == "run":
        p = inv.with_args(inv.args[inv.texts.index("run") + 1 :]).options("np", "--name --prefix --cwd", stop=True)
        return inv.run(p.rest) if p.rest else ANYTHING
    if verb == "config" and not any_option(inv, "--show", "--show-sources", "--get"):
        inv.ask("changes where packages come from")
    if verb in ("remove", "uninstall") or (verb == "env" and words[1:2] == ["remove"]):
        inv.ask("removes packages or environments")
    if verb in ("install", "create", "update"):
        for index, text in enumerate(inv.texts[:-1]):
            if text in ("-c", "--channel") and not _CHANNELS.fullmatch(inv.texts[index + 1]):
                inv.ask("uses another channel")
        judge_sources(inv, tuple(a for a in inv.args if "://" in a.text))
    return ANYTHING
