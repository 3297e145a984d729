"""System package managers, package files and the long tail of build tools."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..unknown import judge_given_code
from ..values import ANYTHING, NOTHING, Out
from .sources import judge_sources


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
        r"--allow-(?:unauthenticated|insecure|downgrades|untrusted)|--force-yes|--no-?gpg-?check|--nogpgcheck|--trusted|-o\s*(?:APT|Dpkg|DPkg)::\S+|--allow-untrusted|--dangerous|--devmode|--classic|--repository|--repo\b|-X\s",
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
    judge_sources(inv, inv.args)
    if set(words[:1]) & {"install", "add", "-i", "-U", "localinstall"} and any(
        re.search(r"^[./~].*\.(?:deb|rpm|apk|snap|flatpak|pkg\.tar\.\w+|txz)$", word) for word in words
    ):
        inv.ask("installs a package file")
    if inv.name.startswith("nix") and "fetch" in joined and "://" in joined:
        inv.ask("evaluates something from the network")
    if inv.name == "nix-env" and any(text in ("-f", "--file", "-e", "--uninstall") for text in inv.texts):
        inv.ask("installs from another expression or removes")
    if inv.name == "nix-shell" or (inv.name == "nix" and words[:1] in (["run"], ["shell"], ["develop"])):
        for index, text in enumerate(inv.texts[:-1]):
            if text in ("--run", "--command", "-c"):
                inv.script(inv.args[index + 1]) if inv.name == "nix-shell" else inv.run(inv.args[index + 1 :])
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


_PUBLISHES = later(
    r"(?:^|\s|:)(?:deploy|publish\w*|push|upload\w*|release:perform|release:prepare|login|trunk|publish-packages|site-deploy)(?:$|\s)"
)


@program(
    "composer pear pecl mvn mvnw gradle gradlew sbt lein ant dotnet nuget dart flutter pub swift pod carthage "
    "luarocks cabal stack cpanm rebar3 hex dub nimble zig vcpkg conan code cursor codium idea ollama "
    "helm-plugin vsce ovsx melos bazel bazelisk buck2 pants tsx changeset semantic-release release-it "
    "standard-version goreleaser np",
    reads=False,
)
def other(inv: Invocation) -> Out | None:
    """Other package managers and build tools, by the words that publish, configure or run something else."""
    joined = " ".join(inv.texts)
    words = [text for text in inv.texts if not text.startswith("-")]
    judge_given_code(inv)
    harmless = inv.name in ("flutter", "bazel", "swift", "code") or (inv.name == "dotnet" and words[:1] == ["publish"])
    if _PUBLISHES.search(joined.replace("publishToMavenLocal", "")) and not harmless:
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
            or (
                re.match(r"https?://", arg.text)
                and words[:1] in (["install"], ["add"], ["get"], ["require"], ["run"], ["script"])
            )
        ):
            inv.ask("installs from outside the usual registry")
    if inv.name == "tsx":
        from .javascript import javascript

        return javascript(inv)
    from .databases import judge_task

    judge_task(inv, joined)
    return NOTHING if inv.name == "code" else ANYTHING
