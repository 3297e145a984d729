"""The syntax tree of one shell command: words made of parts, and commands made of words.

Nothing here is expanded: a word keeps apart what was quoted, what is a parameter and what is a substitution,
because the policy must know which characters bash would split, glob or run. Eighteen classes that attrs makes would
take longer than the command takes to judge.
"""

from __future__ import annotations

from collections.abc import Sequence

from hookspecs.plain import Plain


class ShellSyntaxError(ValueError):
    """The text is not a command this grammar is sure about; the policy asks."""


class Lit(Plain):
    """Literal characters; ``quoted`` ones are neither split nor globbed nor tilde-expanded."""

    text: str
    quoted: bool = False


class Param(Plain):
    """A parameter expansion ``${name[subscript]op word}``; ``op`` is empty for a plain one."""

    name: str
    op: str = ""
    word: Word | None = None
    subscript: Word | None = None
    quoted: bool = False
    prefix: str = ""  # "#" length, "!" indirection


class CommandSub(Plain):
    """``$(...)`` or backquotes."""

    script: Script
    quoted: bool = False


class ProcessSub(Plain):
    """``<(...)`` or ``>(...)``."""

    script: Script
    direction: str


class Arith(Plain):
    """``$((...))``: an expression whose variables bash evaluates again."""

    word: Word
    quoted: bool = False


class ArrayLit(Plain):
    """``(a b c)`` behind ``name=``."""

    items: tuple[Word, ...]


Part = Lit | Param | CommandSub | ProcessSub | Arith | ArrayLit


class Word(Plain):
    """One word of the command line, unexpanded."""

    parts: tuple[Part, ...] = ()

    def literal(self) -> str | None:
        """Return the text when the word is literal characters only, whatever the quoting, else None."""
        if all(isinstance(part, Lit) for part in self.parts):
            return "".join(part.text for part in self.parts if isinstance(part, Lit))
        return None

    def bare(self) -> str | None:
        """Return the text when nothing in the word is quoted or expanded (only such words can be keywords)."""
        if all(isinstance(part, Lit) and not part.quoted for part in self.parts):
            return self.literal()
        return None


class Assignment(Plain):
    """``name=value``, ``name+=value``, ``name[subscript]=value`` or ``name=(items)``."""

    name: str
    value: Word
    append: bool = False
    subscript: Word | None = None


class Redirect(Plain):
    """One redirection; a here-document has its ``body``."""

    op: str
    target: Word
    fd: str = ""
    body: Word | None = None


class Simple(Plain):
    """A simple command.

    Its redirections are a list the parser still fills: here-document bodies come after the line.
    """

    assignments: tuple[Assignment, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: Sequence[Redirect] = ()


class Pipeline(Plain):
    """Commands joined by ``|`` or ``|&``."""

    commands: tuple[Command, ...]


class AndOr(Plain):
    """Pipelines joined by ``&&`` and ``||``; ``background`` when it ends in ``&``."""

    items: tuple[Command, ...]
    background: bool = False


class Script(Plain):
    """A list of commands."""

    items: tuple[AndOr, ...] = ()


class Compound(Plain):
    """``{ }``, ``( )``, ``if``, ``while``, ``case``: words that are expanded, then bodies that may run.

    ``sequence`` bodies all run in order (conditions); ``branches`` run alternatively or not at all.
    """

    kind: str
    sequence: tuple[Script, ...] = ()
    branches: tuple[Script, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: Sequence[Redirect] = ()
    patterns: tuple[Word, ...] = ()


class For(Plain):
    """``for name in words`` and ``select``; ``words`` is None for the implicit ``"$@"``."""

    name: str
    words: tuple[Word, ...] | None
    body: Script
    redirects: Sequence[Redirect] = ()


class Function(Plain):
    """A function definition."""

    name: str
    body: Command
    redirects: Sequence[Redirect] = ()


class Test(Plain):
    """``[[ ... ]]`` with its words in order, operators included as bare words."""

    words: tuple[Word, ...]
    redirects: Sequence[Redirect] = ()


class ArithCommand(Plain):
    """``(( ... ))`` and the header of a C-style ``for``."""

    word: Word
    redirects: Sequence[Redirect] = ()


Command = Simple | Pipeline | AndOr | Script | Compound | For | Function | Test | ArithCommand
