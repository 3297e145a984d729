"""Programs no rule knows: what their arguments still give away.

An unknown program may be a wrapper (``tini -- rm ...``), may take a script (``--exec '...'``), may be a command line
for something that can be destroyed (``acme projects delete``) and may write where others read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .embedded import judge_statements
from .grammar.nodes import ShellSyntaxError
from .grammar.parser import parse
from .paths import Kind, write_kind
from .patterns import later
from .registry import canonical_name
from .values import ANYTHING

if TYPE_CHECKING:
    from .invocation import Invocation

#: Names that are commands when they stand among the arguments of an unknown program.
_COMMANDS = frozenset(
    "rm sh bash zsh dash ksh python perl ruby node php git sudo su env xargs dd chmod chown kill pkill killall "
    "curl wget docker kubectl find mkfs nc ssh scp rsync shred mv tee eval crontab systemctl reboot shutdown "
    "terraform aws psql mysql npm npx pip".split()
)
_SCRIPT_OPTION = later(
    r"(?:-[cex]|--?(?:exec|execute|command|cmd|eval|run|shell|hook|script|pre|post|before|after|preview|pager|editor|on-\w+|\w+-(?:cmd|command|hook|exec)))$"
)
_SCRIPT_VALUE = later(r"(--?[\w-]+)=(.*\s.*)", re.DOTALL)
_DESTROYS = later(
    r"(?i)(?:.*[:-])?(?:destroy|delete|delete-all|del|purge|wipe|nuke|drop|drop-all|uninstall|terminate|erase|deprovision|teardown|deploy|publish|upload|flash|restore|reset|promote|rollback|factory-reset|decommission|revoke|unpublish)$"
)
_REMOVES = later(
    r"(?i)(?:[\w]+[:-])?(?:rm|remove|prune|clear|clear-all|clean|cleanup|flush|flushall|truncate|overwrite|expunge|evict|disable|stop|kill|shutdown|format)(?:-all)?$"
)
_FORCED = later(
    r"-(?:f|y|rf|fr|R)|--(?:force\w*|yes|no-confirm|noconfirm|assume-yes|auto-approve|non-interactive|hard|all|recursive|prune|confirm(?:=\w+)?|skip-confirm\w*)$"
)
_CODE_CALL = later(
    r"\b(?:system|exec\w*|spawn\w*|popen|subprocess|shell\w*|remove\w*|delete\w*|unlink\w*|rmtree|rm_rf|Process\w*|socket\w*|"
    r"connect|eval|write\w*|run_?command|os|child_process|kill|chmod|fork|dlopen|loadlib\w*|download\w*)\s*[.(\[!{ ]"
)
_SECRETS = later(r"(?i)^(?:[\w]+[-_:])*(?:secrets?|tokens?|passwords?|credentials?|keychain|private-key)(?:[-_:]\w+)*$")
_OUTPUT = later(
    r"(?:-o|-O|--(?:out|output|outfile|output-file|outdir|output-dir|dest|destination|log-file|logfile|save|write|target))$"
)
_ATTACHED_OUTPUT = later(
    r"--(?:out|output|outfile|output-file|outdir|output-dir|dest|destination|log-file|logfile|save|target)=(.+)"
)


def judge_unknown(inv: Invocation) -> None:
    """Judge what can be seen of a program without a rule."""
    _wrapped(inv)
    _scripts(inv)
    _outputs(inv)
    judge_statements(inv)
    words = [text for text in inv.texts if not text.startswith("-")][:3]
    if any(_SECRETS.search(word) for word in words):
        inv.ask("handles secrets: " + " ".join(words)[:80])
    if any(
        ("://" in arg.text or re.search(r"@[\w-]+\.\w", arg.text))
        and not arg.known
        and arg.tags & {"sub", "file", "environment", "machine", "stdin"}
        for arg in inv.args
    ):
        inv.ask("sends the output of a command to another machine")
    if {"install", "add", "plugin", "plugins", "extension", "run", "exec", "eval", "load", "import", "apply"} & set(
        words
    ) and any("://" in text for text in inv.texts):
        inv.ask("installs something from the network")
    if any(_DESTROYS.fullmatch(word) for word in words):
        inv.ask("seems to destroy something: " + " ".join(words)[:80])
    elif any(_REMOVES.fullmatch(word) for word in words) and any(_FORCED.fullmatch(text) for text in inv.texts):
        inv.ask("is forced to remove or stop something: " + " ".join(words)[:80])
    if re.search(
        r"--(?:yes-i-really|no-preserve-root|destroy\b|delete\b|delete-all|purge\b|force-reset|drop\b|wipe\b|erase\b|overwrite-destination|i-know-what|dangerously)",
        " ".join(inv.texts),
    ):
        inv.ask("is told to destroy something")


def _wrapped(inv: Invocation) -> None:
    for index, arg in enumerate(inv.args[:8]):
        base = canonical_name(arg.text.rsplit("/", 1)[-1])
        if base in _COMMANDS and index + 1 < len(inv.args) and arg.known:
            inv.run(inv.args[index:], ANYTHING)
            return


def judge_given_code(inv: Invocation) -> None:
    """Judge the values of options that usually hold code or a command line, whatever the program."""
    _scripts(inv)


def _scripts(inv: Invocation) -> None:
    for index, arg in enumerate(inv.args):
        attached = _SCRIPT_VALUE.fullmatch(arg.text)
        if attached and _SCRIPT_OPTION.match(attached.group(1)):
            value = arg.with_text(attached.group(2))
        elif index and " " in arg.text and _SCRIPT_OPTION.match(inv.args[index - 1].text):
            value = arg
        else:
            continue
        if _CODE_CALL.search(value.text):
            inv.ask("is given code that runs, removes or connects something")
        try:
            parse(value.text)
        except ShellSyntaxError:
            continue  # not a shell script, whatever it is
        if value.known:
            inv.script(value)


def _outputs(inv: Invocation) -> None:
    for index, arg in enumerate(inv.args):
        attached = _ATTACHED_OUTPUT.fullmatch(arg.text)
        if attached:
            inv.write(arg.with_text(attached.group(1)))
        elif index and _OUTPUT.match(inv.args[index - 1].text) and not arg.text.startswith("-"):
            inv.write(arg)
        elif not arg.text.startswith("-") and len(arg.text) < 500:
            for place in inv.places(arg):
                kind = write_kind(place)
                if kind is Kind.POLICY or (kind is Kind.PERSISTENCE and place.startswith(("~/.", "/etc"))):
                    inv.ask(f"may change {place}: {kind.value}")
