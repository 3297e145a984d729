"""Where packages come from: shared by the rules for package managers."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..patterns import later
from ..values import Arg

_SOURCE = later(
    r"(?i)(?:^|=|@\s*|\s)(?:git\+|hg\+|svn\+|bzr\+)?(?:https?|ssh|git|ftp|file)://|^(?:git\+|git@|github:|gitlab:|bitbucket:|gist:|file:/)|\.(?:whl|tgz|tar\.gz|zip|deb|rpm|gem|crate|vsix|nupkg|jar|rb)$"
)


USUAL = later(
    r"https://(?:download\.pytorch\.org|pypi\.org|files\.pythonhosted\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|rubygems\.org|crates\.io|repo\.maven\.apache\.org|pypi\.nvidia\.com)(?:/|$)"
)


REPO_SHORTHAND = later(r"^(?![@.~/])[\w-]+/[\w.-]+(?:#\S+)?$")


def judge_sources(
    inv: Invocation, args: tuple[Arg, ...], what: str = "installs from outside the usual registry"
) -> None:
    for arg in args:
        if USUAL.search(arg.text):
            continue
        if _SOURCE.search(arg.text) and not re.match(r"\./|\.\./|dist/|build/", arg.text):
            inv.ask(f"{what}: {arg.text[:100]}")
        elif not arg.known and arg.tags & {"sub", "stdin"} and "file" not in arg.tags:
            inv.dynamic("installs something that is not known")


def any_option(inv: Invocation, *names: str) -> bool:
    for text in inv.texts:
        head = text.split("=", 1)[0]
        if head in names or any(
            n.startswith("--") and head.startswith("--") and len(head) > 5 and n.startswith(head) for n in names
        ):
            return True
        if any(len(n) == 2 and not text.startswith("--") and text.startswith(n) for n in names):
            return True
    return False
