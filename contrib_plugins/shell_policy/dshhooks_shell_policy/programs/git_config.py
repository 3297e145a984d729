"""Configuration keys and revisions of git that make it run, load or print something."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..patterns import later
from ..values import UNKNOWN, Arg

#: Configuration keys whose value is a program, a script or a place programs come from.
_KEY_RUNS = later(
    r"(?i)core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|askpass|gitproxy|attributesfile|excludesfile|worktree|alternaterefscommand)|alias\..*|pager\..*|sequence\.editor|credential\..*|credential"
    r"|diff\..*|difftool\..*|mergetool\..*|merge\..*\.driver|filter\..*|gpg\..*|gpg\.program|init\.templatedir|include\.path|includeif\..*|url\..*|http\..*|https\..*|protocol\..*|receive\..*|uploadpack\..*|uploadarchive\..*"
    r"|remote\..*\.(?:uploadpack|receivepack|vcs|url|pushurl|proxy)|browser\..*|web\.browser|man\..*|submodule\..*|trailer\..*|tar\..*|sendemail\..*|interactive\.difffilter|extensions\..*|blame\..*file|safe\.directory|instaweb\..*|guitool\..*|imap\..*|ssh\.variant|hook\..*|transfer\.\w*fsck\w*"
)


_HARMLESS_VALUE = later(
    r"(?:cat|less(?: -\w+)*|more|true|false|never|always|auto|delta|vim?|nvim|nano|emacs|code --wait|simple|current|histogram|patience|minimal|myers|zdiff3|diff3|store|copies|renames|\d*)$"
)


READ_CONFIG = (
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


def revision_path(inv: Invocation, arg: Arg) -> None:
    if "\n" not in arg.text and not arg.text.startswith("-"):
        inv.read(arg.with_text(arg.text.split(":", 1)[1]) if ":" in arg.text and "//" not in arg.text else arg)


def judge_setting(inv: Invocation, key: str, value: Arg) -> None:
    if UNKNOWN in key:
        inv.dynamic("sets a configuration key that is not known")
    elif re.search(r"(?i)sslverify$|verifyhost", key) and value.text.lower() in ("false", "0", "no", "off"):
        inv.ask(f"sets {key}: nobody checks whom git talks to")
    elif _KEY_RUNS.fullmatch(key):
        if key.lower().startswith("alias.") and not value.text.startswith("!") and value.known:
            inv.run([Arg("git"), *(Arg(word) for word in value.text.split())])
        elif not _HARMLESS_VALUE.fullmatch(value.text) or (
            re.match(r"(?i)credential|core\.hookspath|core\.fsmonitor$", key) and value.text not in ("", "false")
        ):
            inv.ask(f"sets {key}, which makes git run or load something")
