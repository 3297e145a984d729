"""Programs inside commands: which reader judges source of which language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values import Arg

if TYPE_CHECKING:
    from ..invocation import Invocation

_TOKEN_LANGUAGES = frozenset(
    "node ts perl ruby php lua tclsh expect Rscript julia osascript c go java groovy elixir scheme".split()
)


def judge_code(inv: Invocation, language: str, code: Arg, what: str = "code") -> None:
    """Judge ``code`` with the reader for ``language``; languages without one ask.

    Args:
        inv: the invocation that would run it.
        language: the interpreter's canonical name.
        code: the source.
        what: how to call it in the reason.
    """
    if language == "python":
        from .python import judge_python

        judge_python(inv, code, what)
    elif language == "awk":
        from .awk import judge_awk

        judge_awk(inv, code)
    elif language == "sed":
        from .sed import judge_sed

        judge_sed(inv, code)
    elif language == "make":
        from .make import judge_makefile

        judge_makefile(inv, code)
    elif language == "recipes":
        from .recipes import judge_recipes

        judge_recipes(inv, code)
    elif language == "sql":
        from .sql import judge_sql

        judge_sql(inv, code)
    elif language in _TOKEN_LANGUAGES:
        from .scan import judge_tokens

        judge_tokens(inv, language, code, what)
    else:
        inv.ask(f"runs {what} of {language}, which is not judged here")
