"""The ssh family: commands elsewhere, forwarded ports, programs in options, copies and keys."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, NOTHING, UNKNOWN, Arg, Out
from .net import DOWNLOADED


@program("ssh", "slogin", "dbclient", "plink", "sshpass", reads=False)
def ssh(inv: Invocation) -> Out | None:
    """Runs commands elsewhere, forwards ports, and may run programs here (``ProxyCommand``)."""
    if inv.name == "sshpass":
        p = inv.options("fdpPe", stop=True)
        inv.ask("gives a password to another program")
        return inv.run(p.rest) if p.rest else ANYTHING
    p = inv.options("BbcDEeFIiJLlmOopQRSWw", stop=True)
    if not p.rest:
        for value in p.values("-o"):
            _ssh_option(inv, value)
        return ANYTHING
    rest = inv.with_args(p.rest[1:]).options("BbcDEeFIiJLlmOopQRSWw", stop=True)
    for option in (*p, *rest):
        if option.name == "-o" and option.value is not None:
            _ssh_option(inv, option.value)
        elif option.name in ("-F", "-E", "-S", "-I"):
            inv.ask("takes settings, a library or a socket from " + (option.value.text if option.value else ""))
        elif option.name in ("-R", "-L", "-D", "-w", "-W"):
            inv.ask("forwards ports")
    if p.rest[0].text.startswith("-" + UNKNOWN) or (p.rest[0].split and not p.rest[0].known):
        inv.dynamic("connects to a host that is not known")
    words = list(rest.rest)
    if (
        not words
        and p.rest[0].text in ("git@github.com", "git@gitlab.com", "git@bitbucket.org")
        and inv.stdin.text is None
        and not inv.stdin.tags
    ):
        return DOWNLOADED  # only says whether the key is known
    inv.ask("runs commands on another machine")
    if words:
        inv.script(
            Arg(" ".join(a.text for a in words), frozenset().union(*(a.tags for a in words))), what="a remote command"
        )
    elif inv.stdin.text is not None:
        inv.script(Arg(inv.stdin.text, inv.stdin.tags), what="a remote script")
    return DOWNLOADED


def _ssh_option(inv: Invocation, value: Arg) -> None:
    if (
        re.match(
            r"(?i)\s*(?:ProxyCommand|LocalCommand|PermitLocalCommand|KnownHostsCommand|PKCS11Provider|SecurityKeyProvider|Match|Include|RemoteCommand|ProxyUseFdpass|SendEnv|XAuthLocation)\b",
            value.text,
        )
        or not value.known
    ):
        inv.deny("an option makes ssh run a program: " + value.text.replace(UNKNOWN, "…")[:80])


@program("scp", "pscp", reads=False)
def scp(inv: Invocation) -> Out | None:
    """Copies between machines."""
    p = inv.options("cFiJloPSDX")
    for value in p.values("-o"):
        _ssh_option(inv, value)
    if p.has("-S"):
        inv.deny("an option makes scp run a program")
    for source in p.operands[:-1]:
        inv.read(source)
    for target in p.operands[-1:]:
        if ":" not in target.text:
            inv.write(target, DOWNLOADED)
    inv.ask("copies to or from another machine")
    return NOTHING


@program("ssh-keygen", "ssh-add", "ssh-keyscan", reads=False)
def ssh_keys(inv: Invocation) -> Out | None:
    """Shows and makes keys."""
    p = inv.options("fCNPtbIDwOns")
    if inv.name == "ssh-keygen" and p.has("-D", "-w", "-M"):
        inv.ask("loads a library")
    if inv.name == "ssh-add" and p.has("-s", "-S"):
        inv.ask("loads a library")
    if inv.name == "ssh-keygen" and p.has("-p", "-y", "-e", "-i", "-s"):
        inv.read_all(p.values("-f"))
    elif inv.name == "ssh-keygen" and not p.has("-l", "-F", "-B", "-L"):
        for value in p.values("-f"):
            inv.write(value)
    return DOWNLOADED if inv.name == "ssh-keyscan" else ANYTHING
