"""Python's installers and project tools."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, Arg, Out
from .sources import USUAL, any_option, judge_sources

#: Tools people run without installing them first; any other name may be a typo away from something else.
_KNOWN_TOOLS = later(
    r"ruff|black|isort|flake8|mypy|pyright|basedpyright|pylint|pytest|tox|nox|pre-commit|cookiecutter|copier|httpie|http|poetry|pdm|hatch|build|twine|check-manifest|pip-audit|pip-tools|pipdeptree|cowsay|pycowsay"
    r"|ipython|jupyter|jupyterlab|notebook|marimo|datasette|sqlfluff|yamllint|ansible|ansible-lint|codespell|bandit|vulture|radon|interrogate|pyupgrade|autoflake|docformatter|mkdocs|sphinx|towncrier|commitizen|bump2version|bumpver"
    r"|semgrep|coverage|pyinstaller|nuitka|maturin|cibuildwheel|virtualenv|uv|pyflakes|pycodestyle|djlint|ty|scalene|py-spy|memray|snakeviz|streamlit|yt-dlp|glances|rich-cli|aws|awscli|black-primer|deptry|validate-pyproject|license-scanner|reuse|zizmor|checkov|cfn-lint|safety|--help|--version|list"
)
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
    if _custom_source(inv, verb) and not any(USUAL.search(text) for text in texts):
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
        judge_sources(inv, inv.args)
    if inv.name == "uvx" or (inv.name == "pipx" and verb == "run") or (words[:2] == ["tool", "run"]):
        tool = (
            words[0]
            if inv.name == "uvx"
            else (words[-1] if not words else words[min(len(words) - 1, 1 if inv.name == "pipx" else 2)])
        )
        if not _KNOWN_TOOLS.fullmatch(re.split(r"[@=<>\[]", tool)[0]):
            inv.ask("runs a package nobody vouches for: " + tool[:60])
    if verb in ("shell", "exec") and inv.name in ("pipenv", "poetry"):
        return ANYTHING
    if verb in ("uninstall", "remove") and any(word.lower().replace("_", "-").startswith("dshhooks") for word in words):
        inv.ask("removes the hooks or their plugins")
    if verb == "uninstall" and any(a.tags & {"sub", "stdin"} or a.text in ("-r", "--requirement") for a in inv.args):
        inv.ask("uninstalls what is not known")
    if verb == "cache" and words[1:2] == ["purge"]:
        return ANYTHING
    inv.read_all([a for a in inv.args if a.text.startswith(("/", "~"))])
    return ANYTHING


def _custom_source(inv: Invocation, verb: str) -> bool:
    names = [n for n in _PIP_SOURCES if len(n) > 2] + (
        ["-i", "-f"] if inv.name in ("pip", "uv") and verb in ("install", "download", "wheel") else []
    )
    return any_option(inv, *names)


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
            judge_sources(inv, (value,))
        elif option in ("-m", "--module") and rest:
            rest.insert(0, Arg("-m"))
            rest.insert(0, Arg("python"))
            break
    if rest and rest[0].text.endswith(".py"):
        rest.insert(0, Arg("python"))
    elif rest and rest[0].text == "-":
        rest[0] = Arg("python")
    return inv.run(rest) if rest else ANYTHING
