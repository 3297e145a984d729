"""What options give away whatever the program: code, settings and sources from where anybody may have put them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .registry import canonical_name
from .values import ANYTHING, UNKNOWN, Arg

if TYPE_CHECKING:
    from .invocation import Invocation

#: Options that make a program load or run what their value names.
_LOADS = re.compile(
    r"-{1,2}(?:[\w-]*[-_])?(?:kubeconfig|config|configuration|conf|script|load|require|import|rc|init|"
    r"module|engine|provider|program|command|exec|python|node|ruby|perl|shell|interpreter|wrapper|runner|hook|"
    r"rules|ruleset|transform|preset|extension|ext|settings|preload|loader|launcher|compiler|linker|agent|filter|"
    r"extensionDevelopmentPath|resolver|parser|reporter|formatter|env|makefile|justfile|taskfile|gemfile|lua|eval|"
    r"plugin|addon|setup|teardown|bootstrap|backend|driver|fixture|processor|preprocessor|postprocessor|middleware|"
    r"helper|handler|callback|inventory|playbook|startup|profile|macro|rcfile|rulesdir|checker|source-map-command|"
    r"root|home|prefix|sysroot|toolchain|library|lib|cache-from|options|optfile|manifest|package|project)s?"
    r"(?:[-_]?(?:file|path|dir|directory|script|module|cmd|command|name))?s?$",
    re.IGNORECASE,
)
#: Of those, options that as often name plain data.
_DATA_OPTIONS = re.compile(r"-{1,2}(?:root|home|prefix|cache[\w-]*|project|package|manifest|profile|filter|import)$", re.IGNORECASE)
#: Options that say where things are fetched from.
_SOURCES = re.compile(
    r"-{1,2}(?:[\w-]*[-_])?(?:registry|index|index-url|repo|repository|repositories|server|mirror|source|sources|proxy|"
    r"channel|plugin|script|config|extension|upstream|find-links|update-url|download-url|distribution-url)$",
    re.IGNORECASE,
)
_REMOTE = re.compile(r"(?:https?|ftp|git|ssh)(?:\+\w+)?://(?!localhost|127\.|0\.0\.0\.0|\[::1)|git\+", re.IGNORECASE)
_USUAL = re.compile(
    r"https://(?:[\w-]+\.)*(?:npmjs\.org|yarnpkg\.com|pypi\.org|pythonhosted\.org|pytorch\.org|rubygems\.org|crates\.io|nuget\.org|"
    r"maven\.org|apache\.org|golang\.org|packagist\.org|anaconda\.org|nvidia\.com|github\.com|debian\.org|ubuntu\.com)(?:[:/]|$)"
)
_TEMPORARY = re.compile(r"(?:/tmp|/var/tmp|/dev/shm|/dev/fd|/dev/stdin)(?:/|$)")
_CODE_FILE = re.compile(
    r"\.(?:[cm]?[jt]sx?|py|rb|pl|pm|php|lua|sh|bash|zsh|so(?:\.\d+)*|dylib|dll|jar|el|vim|tcl|R|gradle|groovy|rc|cfg|conf|ini|toml|bat|ps1)$"
)
_SHORT_LOAD = re.compile(r"-[crlLPRSE]$")
#: Programs whose arguments are data.
_DATA = frozenset(
    "echo printf git grep rg ag ack sed awk jq yq test [ [[ gh glab read declare export local readonly typeset set "
    "unset alias cd ls cat "
    "curl wget docker trap eval xargs find kill case tee diff cp mv ln rm mkdir touch head tail wc less".split()
)
#: Subcommands behind which another command line stands, whatever the tool.
_RUNS_REST = frozenset({"exec", "x", "run", "--exec", "--"})
_INNER = frozenset(
    "rm sh bash zsh dash ksh sudo su env xargs dd chmod chown kill pkill killall curl wget mkfs nc ssh scp shred "
    "crontab systemctl reboot shutdown terraform aws kubectl psql mysql eval git find".split()
)
#: Programs that open what follows by rules of their own.
_OPENED = frozenset(
    "kubectl docker-compose npm pnpm yarn bun npx uv poetry pdm hatch pipenv rye pixi env sudo command exec op xargs "
    "bash sh zsh dash ksh python node ruby perl nohup timeout time ssh tmux screen gcloud aws az systemd-run".split()
)


def judge_generic(inv: Invocation) -> None:
    """Judge options by their names alone, and a command line behind ``exec``, ``run`` or ``--``."""
    if inv.name in _DATA:
        return
    for index, arg in enumerate(inv.args):
        name, equals, value = arg.text.partition("=")
        if not name.startswith("-"):
            continue
        if not equals:
            value = inv.texts[index + 1] if index + 1 < len(inv.args) else ""
        if value and not value.startswith("-"):
            _option(inv, name, value)
    if inv.name not in _OPENED:
        _command_behind(inv)


def _option(inv: Invocation, name: str, value: str) -> None:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name)  # --globalSetup
    temporary = _TEMPORARY.match(value) and value != "/tmp"
    if _SHORT_LOAD.match(name):
        if temporary and _CODE_FILE.search(value):
            inv.ask(f"{name} takes code or settings from {value[:60]}")
    elif temporary and (_LOADS.match(words) or _LOADS.match(name)):
        if _CODE_FILE.search(value) or not _DATA_OPTIONS.match(words):
            inv.ask(f"{name} takes code or settings from {value[:60]}")
    elif _SOURCES.match(words) and _REMOTE.match(value) and not _USUAL.match(value):
        inv.ask(f"{name} names another source: {value.replace(UNKNOWN, '…')[:60]}")


def _command_behind(inv: Invocation) -> None:
    """``asdf exec rm ...``, ``volta run sh -c ...``, ``chamber exec service -- psql ...``."""
    for index, text in enumerate(inv.texts[:6]):
        if text not in _RUNS_REST:
            continue
        for start in range(index + 1, min(index + 4, len(inv.args))):
            arg: Arg = inv.args[start]
            if arg.known and canonical_name(arg.text.rsplit("/", 1)[-1]) in _INNER and start + 1 < len(inv.args):
                inv.run(inv.args[start:], ANYTHING)
                return
