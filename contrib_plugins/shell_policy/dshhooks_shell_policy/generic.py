"""What options give away whatever the program: code, settings and sources from where anybody may have put them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .values import UNKNOWN

if TYPE_CHECKING:
    from .invocation import Invocation

#: Options that make a program load or run what their value names.
_LOADS = re.compile(
    r"-{1,2}(?:[\w-]*[-_])?(?:kubeconfig|config(?:-file)?|configuration|conf|script|scripts|plugin|plugins|load|require|rc|rcfile|init|"
    r"init-file|init-script|module|modules|engine|program|command|exec|python|shell|interpreter|wrapper|runner|hook|hooks|"
    r"rules|rulesdir|transform|preset|extension|extensions|settings|preload|loader|launcher|compiler|linker|agent|"
    r"extensionDevelopmentPath|resolver|parser|reporter|formatter|env-file|makefile|justfile|taskfile|gemfile|lua|eval-file)$",
    re.IGNORECASE,
)
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
#: Programs whose arguments are data.
_DATA = frozenset(
    "echo printf git grep rg ag ack sed awk jq yq test [ [[ gh glab read declare export local readonly typeset set "
    "unset alias cd ls cat "
    "curl wget docker trap eval xargs find kill case tee diff cp mv ln rm mkdir touch head tail wc less".split()
)


def judge_generic(inv: Invocation) -> None:
    """Judge options by their names alone."""
    if inv.name in _DATA:
        return
    for index, arg in enumerate(inv.args):
        name, equals, value = arg.text.partition("=")
        if not name.startswith("-"):
            continue
        if not equals:
            value = inv.texts[index + 1] if index + 1 < len(inv.args) else ""
        if not value or value.startswith("-"):
            continue
        if _LOADS.match(name) and _TEMPORARY.match(value) and value != "/tmp":
            inv.ask(f"{name} takes code or settings from {value[:60]}")
        elif _SOURCES.match(name) and _REMOTE.match(value) and not _USUAL.match(value):
            inv.ask(f"{name} names another source: {value.replace(UNKNOWN, '…')[:60]}")
