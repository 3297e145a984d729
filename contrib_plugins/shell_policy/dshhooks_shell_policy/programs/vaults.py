"""Password stores, key rings and credential helpers."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, Out


@program(
    "pass gopass bw lpass 1password keepassxc-cli secret-tool security keyring kwallet-query pass-cli rbw dashlane "
    "ykman age gpg gpg2 cmdkey klist chainsaw mimikatz lazagne trufflehog",
    reads=True,
)
def vaults(inv: Invocation) -> Out | None:
    """Password stores and keys."""
    joined = " ".join(inv.texts)
    if inv.name in ("gpg", "gpg2"):
        if re.search(r"--export-secret|--export-options.*backup", joined):
            inv.deny("exports secret keys")
        elif re.search(
            r"--delete-|--batch.*--yes.*--delete|--gen-|--quick-|--decrypt|(?:^|\s)-d\b|--import\b|--edit-key|--pinentry|--passphrase",
            joined,
        ):
            inv.ask("changes keys")
        for value in inv.options("or", ("--output", "--recipient")).values("-o", "--output"):
            inv.write(value)
        return Out(None, inv.stdin.tags | {"decoded"})
    if inv.name == "security":
        if re.search(
            r"dump-keychain|find-(?:generic|internet)-password|export|delete-|add-|unlock-keychain|set-|authorizationdb|import",
            joined,
        ):
            inv.deny("reads or changes the keychain")
        return ANYTHING
    if inv.name == "age" and "-d" not in inv.texts and "--decrypt" not in inv.texts:
        return ANYTHING
    if re.fullmatch(r"(?:--?)?(?:version|help|status|list|ls)", joined or "x") is None or not inv.args:
        inv.deny("reads or changes stored secrets") if inv.name not in ("klist",) else None
    return ANYTHING


@program("op", reads=False)
def onepassword(inv: Invocation) -> Out | None:
    """1Password's command line."""
    if inv.texts[:1] == ["run"] and "--" in inv.texts:
        inv.ask("hands secrets to a program")
        return inv.run(inv.args[inv.texts.index("--") + 1 :])
    if inv.texts[:1] and inv.texts[0] not in ("--version", "whoami", "account", "help"):
        inv.deny("reads or changes stored secrets")
    return ANYTHING


@program(
    "git-credential-osxkeychain git-credential-manager git-credential-store git-credential-cache "
    "git-credential-libsecret git-credential-manager-core docker-credential-desktop docker-credential-osxkeychain "
    "docker-credential-pass docker-credential-secretservice docker-credential-helper",
    reads=False,
)
def credential_helper(inv: Invocation) -> None:
    """Credential helpers print secrets."""
    inv.deny("hands out stored credentials")
