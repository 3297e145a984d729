"""Package managers: names from the usual registry pass; other sources, publishing and configuration ask."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, NOTHING, Arg, Out

_SOURCE = re.compile(
    r"(?i)(?:^|=|@\s*|\s)(?:git\+|hg\+|svn\+|bzr\+)?(?:https?|ssh|git|ftp|file)://|^(?:git\+|git@|github:|gitlab:|bitbucket:|gist:|file:/)|\.(?:whl|tgz|tar\.gz|zip|deb|rpm|gem|crate|vsix|nupkg|jar|rb)$"
)
_USUAL = re.compile(
    r"https://(?:download\.pytorch\.org|pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|rubygems\.org|crates\.io|repo\.maven\.apache\.org|pypi\.nvidia\.com)(?:/|$)"
)
_REPO_SHORTHAND = re.compile(r"^(?![@.~/])[\w-]+/[\w.-]+(?:#\S+)?$")


def _sources(inv: Invocation, args: tuple[Arg, ...], what: str = "installs from outside the usual registry") -> None:
    for arg in args:
        if _USUAL.search(arg.text):
            continue
        if _SOURCE.search(arg.text) and not re.match(r"\./|\.\./|dist/|build/", arg.text):
            inv.ask(f"{what}: {arg.text[:100]}")
        elif not arg.known and arg.tags & {"sub", "stdin"} and "file" not in arg.tags:
            inv.dynamic("installs something that is not known")


def _any_option(inv: Invocation, *names: str) -> bool:
    for text in inv.texts:
        head = text.split("=", 1)[0]
        if head in names or any(
            n.startswith("--") and head.startswith("--") and len(head) > 5 and n.startswith(head) for n in names
        ):
            return True
        if any(len(n) == 2 and not text.startswith("--") and text.startswith(n) for n in names):
            return True
    return False


_PIP_SOURCES = (
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "--trusted-host",
    "--index",
    "--default-index",
    "--config-settings",
    "--global-option",
    "--install-option",
    "--cert",
    "--proxy",
    "--no-index-x",
)


@program(
    "pip pipx uv uvx pipenv poetry pdm hatch rye flit twine easy_install maturin pixi",
    reads=False,
)
def pip(inv: Invocation) -> Out | None:
    """Python's installers and project tools."""
    texts = inv.texts
    words = [text for text in texts if not text.startswith("-")]
    verb = words[0] if words else ""
    if inv.name == "uv" and verb in ("pip", "tool"):
        verb = words[1] if len(words) > 1 else ""
    if _custom_source(inv, verb) and not any(_USUAL.search(text) for text in texts):
        inv.ask("uses another package index")
    if verb in ("publish", "upload") or (inv.name == "twine" and verb != "check"):
        inv.ask("publishes a package")
    if verb == "config" and (
        (inv.name != "poetry" and words[1:2] and words[1] in ("set", "unset", "edit"))
        or (inv.name == "poetry" and len(words) > 2)
    ):
        inv.ask("changes where packages come from")
    if verb == "config" and inv.name == "pip":
        return Out(None, frozenset({"environment"}))
    if verb in ("source", "self") and words[1:2] and words[1] in ("add", "remove", "update"):
        inv.ask("changes where packages come from")
    if verb in ("install", "add", "download", "wheel", "tool", "run", "inject", "sync", "uvx") or inv.name in (
        "uvx",
        "easy_install",
    ):
        if verb == "run" and inv.name in ("uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi"):
            return _run(inv)
        _sources(inv, inv.args)
    if verb in ("shell", "exec") and inv.name in ("pipenv", "poetry"):
        return ANYTHING
    if verb in ("uninstall", "remove") and any(word.lower().replace("_", "-").startswith("dshhooks") for word in words):
        inv.ask("removes the hooks or their plugins")
    if verb == "uninstall" and any(a.tags & {"sub", "stdin"} for a in inv.args):
        inv.ask("uninstalls what is not known")
    if verb == "cache" and words[1:2] == ["purge"]:
        return ANYTHING
    inv.read_all([a for a in inv.args if a.text.startswith(("/", "~"))])
    return ANYTHING


def _custom_source(inv: Invocation, verb: str) -> bool:
    names = [n for n in _PIP_SOURCES if len(n) > 2] + (
        ["-i", "-f"] if inv.name in ("pip", "uv") and verb in ("install", "download", "wheel") else []
    )
    return _any_option(inv, *names)


def _run(inv: Invocation) -> Out | None:
    """``uv run command``."""
    start = inv.texts.index("run") + 1
    rest = list(inv.args[start:])
    while rest and rest[0].text.startswith("-") and rest[0].text != "-":
        option = rest.pop(0).text
        if option == "--":
            break
        if (
            option
            in (
                "--from",
                "--with",
                "--with-requirements",
                "--python",
                "-p",
                "--env-file",
                "--extra",
                "--group",
                "--directory",
                "--project",
                "--package",
                "--with-editable",
                "-e",
            )
            and rest
        ):
            value = rest.pop(0)
            _sources(inv, (value,))
        elif option in ("-m", "--module") and rest:
            rest.insert(0, Arg("-m"))
            rest.insert(0, Arg("python"))
            break
    if rest and rest[0].text.endswith(".py"):
        rest.insert(0, Arg("python"))
    elif rest and rest[0].text == "-":
        rest[0] = Arg("python")
    return inv.run(rest) if rest else ANYTHING


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
        from .interpreters import javascript

        return javascript(inv)
    if verb == "npm" and inv.name == "yarn":
        words, verb = words[1:], words[1] if len(words) > 1 else ""
    if _any_option(
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
    if verb in ("config", "c", "set", "set-script") and (verb != "c" or inv.name == "npm"):
        if verb in ("set", "set-script") or (words[1:2] and words[1] in ("set", "delete", "edit", "fix", "unset")):
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
        _sources(inv, inv.args)
        if verb in ("install", "i", "add", "dlx", "exec", "x", "global") and any(
            _REPO_SHORTHAND.match(a.text) or re.search(r".@(?:npm:|[\w-]+/[\w.-]+$|git|github:)", a.text)
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
    _sources(inv, (*p.values("-p", "--package"), *p.rest[:1]), "runs a package from outside the registry")
    if p.rest and (_REPO_SHORTHAND.match(p.rest[0].text) or not p.rest[0].known):
        inv.ask("runs a package from a repository")
    if not p.rest:
        return ANYTHING
    head = re.sub(r"(?<=.)@.*", "", p.rest[0].text) if not p.rest[0].text.startswith("@") else p.rest[0].text
    if "/" in head and not head.startswith("@"):
        return ANYTHING
    return inv.run([p.rest[0].with_text(head), *p.rest[1:]])


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
    if verb in ("publish", "yank", "owner", "login", "logout"):
        inv.ask("changes the registry or an account")
    if verb in ("install", "add") and _any_option(inv, "--git", "--index", "--registry"):
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
    for option in ("-toolexec", "-exec", "-vettool", "-overlay", "-modfile", "-ldflags-x"):
        for index, text in enumerate(texts):
            if text == option or text.startswith((option + "=", "-" + option)):
                if option in ("-toolexec", "-exec", "-vettool"):
                    inv.ask("runs a program around the tool chain")
                    value = text.partition("=")[2] or (texts[index + 1] if index + 1 < len(texts) else "")
                    inv.script(value) if value else None
    if re.search(r"-extld|-linkmode", " ".join(texts)):
        inv.ask("links with another program")
    if texts[:2] == ["mod", "edit"] and any(text.startswith("-replace") for text in texts):
        inv.ask("replaces a module by another one")
    if verb == "env" and any(text in ("-w", "-u") for text in texts):
        inv.ask("changes the settings of go")
    if verb in ("run", "install") and any("@" in text and not text.startswith(("./", "-")) for text in texts[1:]):
        inv.ask("runs or installs a module from the network")
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
        verb == "sources" and _any_option(inv, "--add", "-a", "--remove", "-r", "--clear-all", "-c")
    ):
        inv.ask("changes the registry, an account or the sources")
    if verb == "add" and _any_option(inv, "--git", "--github", "--source", "--path"):
        inv.ask("installs from another source")
    if verb in ("install", "update", "fetch"):
        if _any_option(inv, "--source", "-s", "--clear-sources"):
            inv.ask("installs from another source")
        _sources(inv, inv.args)
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


@program("brew", "port", reads=False)
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
        _sources(inv, inv.args)
        if "--no-quarantine" in inv.texts or any(word.endswith(".rb") for word in words):
            inv.ask("installs without checks or from a file")
        if any(word.count("/") >= 2 for word in words[1:]):
            inv.ask("installs from a tap")
    if verb in ("sh", "irb", "ruby", "bundle-exec"):
        inv.ask("runs code")
    return Out("/usr/local\n") if verb == "--prefix" else ANYTHING


@program("conda", reads=False)
def conda(inv: Invocation) -> Out | None:
    """conda and mamba."""
    words = [text for text in inv.texts if not text.startswith("-")]
    verb = words[0] if words else ""
    if verb == "run":
        p = inv.with_args(inv.args[inv.texts.index("run") + 1 :]).options("np", "--name --prefix --cwd", stop=True)
        return inv.run(p.rest) if p.rest else ANYTHING
    if verb == "config" and not _any_option(inv, "--show", "--show-sources", "--get"):
        inv.ask("changes where packages come from")
    if verb in ("remove", "uninstall") or (verb == "env" and words[1:2] == ["remove"]):
        inv.ask("removes packages or environments")
    if verb in ("install", "create", "update"):
        for index, text in enumerate(inv.texts[:-1]):
            if text in ("-c", "--channel") and "://" in inv.texts[index + 1]:
                inv.ask("uses another channel")
        _sources(inv, tuple(a for a in inv.args if "://" in a.text))
    return ANYTHING


@program(
    "apt apt-get aptitude dnf yum zypper pacman yay paru apk snap flatpak emerge pkg pkg_add xbps-install nix-env "
    "nix nix-shell guix microdnf tdnf opkg choco winget scoop mas eopkg swupd",
    reads=False,
)
def distribution(inv: Invocation) -> Out | None:
    """System package managers: looking and installing by name pass; removing, other sources and missing checks ask."""
    words = [text for text in inv.texts if not text.startswith("-")]
    joined = " ".join(inv.texts)
    if re.search(
        r"--allow-(?:unauthenticated|insecure|downgrades|untrusted)|--force-yes|--no-?gpg-?check|--nogpgcheck|--trusted|-o\s*(?:APT|Dpkg|DPkg)::\S+|--allow-untrusted|--dangerous|--classic|--repository|--repo\b|-X\s",
        joined,
    ):
        inv.ask("installs without checks or runs hooks")
    if any(re.search(r"(?:APT|DPkg|Dpkg)::", text) for text in inv.texts):
        inv.deny("an option makes apt run a command")
    if set(words[:1]) & {
        "remove",
        "purge",
        "autoremove",
        "erase",
        "del",
        "uninstall",
        "autopurge",
        "full-upgrade",
        "dist-upgrade",
        "system-upgrade",
        "delete",
        "unmerge",
    } or (re.search(r"(?:^|\s)-R\w*\b", joined) and inv.name in ("pacman", "yay", "paru")):
        inv.ask("removes or replaces system packages")
    if words[:1] in (["config-manager"], ["addrepo"], ["ar"], ["remote-add"], ["edit-sources"], ["add-repo"]):
        inv.ask("changes where packages come from")
    _sources(inv, inv.args)
    if inv.name.startswith("nix") and "fetch" in joined and "://" in joined:
        inv.ask("evaluates something from the network")
    if inv.name == "nix-env" and any(text in ("-f", "--file", "-e", "--uninstall") for text in inv.texts):
        inv.ask("installs from another expression or removes")
    if inv.name == "nix-shell" or (inv.name == "nix" and words[:1] in (["run"], ["shell"], ["develop"])):
        for index, text in enumerate(inv.texts[:-1]):
            if text in ("--run", "--command", "-c"):
                inv.script(inv.args[index + 1])
        if any(":" in word for word in words[1:]) and not any(word.startswith(("nixpkgs", ".#")) for word in words[1:]):
            inv.ask("runs something from another flake")
    return ANYTHING


@program(
    "dpkg rpm installer msiexec pkgutil alien apt-key add-apt-repository apt-add-repository rpmkeys "
    "dpkg-reconfigure dpkg-divert",
    reads=False,
)
def package_files(inv: Invocation) -> Out | None:
    """Installing package files, keys and repositories asks; queries pass."""
    joined = " ".join(inv.texts)
    queries = {
        "dpkg": r"(?:^|\s)(?:-[lLsSpcIW]\b|--(?:list\w*|status|search|print\w*|get-selections|contents|info|version|show))",
        "rpm": r"(?:^|\s)-q\w*|--query|--version|(?:^|\s)-V",
        "pkgutil": r"--pkgs|--pkg-info|--files",
        "apt-key": r"\blist\b",
    }
    if not re.search(queries.get(inv.name, r"(?!)"), joined):
        inv.ask("installs packages, keys or repositories")
    return ANYTHING


@program(
    "composer pear pecl mvn mvnw gradle gradlew sbt lein ant dotnet nuget dart flutter pub swift pod carthage "
    "luarocks cabal stack cpan cpanm rebar3 hex dub nimble zig vcpkg conan code cursor codium idea ollama "
    "helm-plugin vsce ovsx melos bazel bazelisk buck2 pants tsx changeset semantic-release release-it "
    "standard-version goreleaser np",
    reads=False,
)
def other(inv: Invocation) -> Out | None:
    """Other package managers and build tools, by the words that publish, configure or run something else."""
    joined = " ".join(inv.texts)
    words = [text for text in inv.texts if not text.startswith("-")]
    if re.search(
        r"(?:^|\s|:)(?:deploy|publish\w*|push|upload\w*|release:perform|release:prepare|login|trunk|publish-packages|nuget push|site-deploy)(?:$|\s)",
        joined,
    ) and not (
        inv.name in ("flutter", "bazel", "swift", "code")
        or ("publishToMavenLocal" in joined and "publish " not in joined)
    ):
        if not (inv.name == "dotnet" and words[:1] == ["publish"]):
            inv.ask("publishes or deploys")
    if inv.name in ("semantic-release", "release-it", "np", "goreleaser") and not re.search(
        r"--dry-run|check|--snapshot|--version", joined
    ):
        inv.ask("publishes a release")
    if inv.name == "dotnet" and re.search(r"database drop|migrations remove", joined):
        inv.ask("drops a database")
    if inv.name == "composer":
        if (
            words[:1] == ["config"]
            and len(words) > 2
            and re.search(
                r"repositories|repo|://|allow-plugins|http-basic|github-oauth|disable-tls|secure-http", joined
            )
        ) or "--repository" in joined:
            inv.ask("changes where packages come from")
        if words[:1] == ["exec"] and len(words) > 1:
            return inv.run([a for a in inv.args if not a.text.startswith("-")][1:])
    if inv.name in ("code", "cursor", "codium") and "--install-extension" in joined:
        inv.ask("installs an extension")
    if re.search(r"(?:^|\s)(?:-I|--init-script|--gradle-user-home)(?:$|\s|=)", joined) and inv.name in (
        "gradle",
        "gradlew",
    ):
        inv.ask("runs another build script")
    if re.search(
        r"-Dexec\.executable|(?:^|\s)(?:-s|-gs|--settings|--global-settings|--global-toolchains)\s*/|exec:exec\b|-javaagent|-Dmaven\.ext\.class\.path|--run_under|--workspace_status_command|--override_repository|nuget add source|add source|sources? add|feed add|-s https?://|--source https?://|--add-source|-Drepo|-DremoteRepositories",
        joined,
    ):
        inv.ask("runs a program or uses another source")
    if re.search(
        r"(?:^|\s)--(?:server|repo|repository|index|mirror|source|from|url|gradle-distribution-url|gradle-version-url)(?:=|\s)\S*(?:://|\w)",
        joined,
    ) and words[:1] in (["install"], ["add"], ["wrapper"], ["get"], ["update"], ["require"]):
        inv.ask("uses another source of packages")
    for arg in inv.args:
        if (
            re.search(r"git(?:hub|lab)?\+|^git@|\.(?:vsix|nupkg)$", arg.text)
            or re.match(r"git://", arg.text)
            or (re.match(r"https?://", arg.text) and words[:1] in (["install"], ["add"], ["get"], ["require"]))
        ):
            inv.ask("installs from outside the usual registry")
    if inv.name == "tsx":
        from .interpreters import javascript

        return javascript(inv)
    from .databases import judge_task

    judge_task(inv, joined)
    return NOTHING if inv.name == "code" else ANYTHING
