"""Words to commands: lists, pipelines, compound commands, redirections.

``parse(text)`` is the whole interface. It either returns the tree bash would build or raises ``ShellSyntaxError``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..patterns import later
from .nodes import (
    AndOr,
    ArithCommand,
    Assignment,
    Command,
    Compound,
    For,
    Function,
    Lit,
    Pipeline,
    Redirect,
    Script,
    ShellSyntaxError,
    Simple,
    Test,
    Word,
)
from .scanner import BLANK, META, Scanner

_REDIRECT = later(r"(\d*|\{[A-Za-z_]\w*\})(<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|&>>|&>)")
_ASSIGN = later(r"([A-Za-z_]\w*)(\[)?(\+?=)?")
_FUNCTION = later(r"[^\s;&|<>()$`'\"\\]+(?=[ \t]*\([ \t]*\))")
_CLOSERS = frozenset({"then", "do", "done", "fi", "elif", "else", "esac", "}", "in"})


def parse(text: str, *, max_depth: int = 40) -> Script:
    """Parse a whole command text.

    Args:
        text: what the shell would be given.
        max_depth: nesting of any kind beyond this is refused.

    Raises:
        ShellSyntaxError: incomplete, ambiguous or too deeply nested.
    """
    return Parser(text, max_depth=max_depth).parse_all()


class Parser(Scanner):
    """A recursive-descent parser over the scanner's words."""

    def parse_all(self) -> Script:
        """Parse to the end of the text."""
        script = self.list_until(frozenset())
        if self.i < len(self.s):
            raise self.fail("unexpected " + repr(self.s[self.i]))
        if self.pending:
            raise self.fail("here-document without its body")
        return script

    def parse_until(self, closer: str) -> Script:
        """Parse commands up to the closing character and take it."""
        outer, self.pending = self.pending, []
        script = self.list_until(frozenset())
        if self.peek() != closer:
            raise self.fail(f"expected {closer}")
        if self.pending:
            raise self.fail("here-document without its body")
        self.pending = outer
        self.i += 1
        return script

    # -- lists and pipelines -----------------------------------------------------------------------

    def list_until(self, stops: frozenset[str]) -> Script:
        """Parse a list up to a keyword of ``stops``, a closing parenthesis, ``;;`` or the end."""
        self.enter()
        items: list[AndOr] = []
        while True:
            self.blanks(newlines=True)
            if self.at_end(stops):
                break
            items.append(self.and_or())
            self.blanks()
            if self.peek(2) in (";;", ";&"):
                break
            if self.peek() == ";" or (self.peek() == "&" and self.peek(2) not in ("&&", "&>")):
                if self.peek() == "&":
                    items[-1] = AndOr(items[-1].items, background=True)
                self.i += 1
            elif self.peek() not in ("\n", ")", ""):
                raise self.fail("unexpected " + repr(self.peek()))
        self.leave()
        return Script(tuple(items))

    def at_end(self, stops: frozenset[str]) -> bool:
        """Say whether the list ends here."""
        if self.i >= len(self.s) or self.peek() == ")" or self.peek(2) in (";;", ";&"):
            return True
        word = self.keyword()
        if word in stops:
            return True
        if word in _CLOSERS:
            raise self.fail(f"unexpected {word}")
        return False

    def and_or(self) -> AndOr:
        """Parse pipelines joined by ``&&`` and ``||``."""
        items: list[Command] = [self.pipeline()]
        while True:
            self.blanks()
            if self.peek(2) not in ("&&", "||"):
                return AndOr(tuple(items))
            self.i += 2
            self.blanks(newlines=True)
            items.append(self.pipeline())

    def pipeline(self) -> Command:
        """Parse commands joined by pipes, skipping ``!`` and ``time``."""
        self.pipeline_prefix()
        commands: list[Command] = [self.command()]
        while True:
            self.blanks()
            if self.peek() != "|" or self.peek(2) == "||":
                break
            self.i += 2 if self.peek(2) == "|&" else 1
            self.blanks(newlines=True)
            commands.append(self.command())
        return commands[0] if len(commands) == 1 else Pipeline(tuple(commands))

    def pipeline_prefix(self) -> None:
        """Skip ``!``, ``time`` and ``coproc``, which change nothing about what runs."""
        while True:
            self.blanks()
            word = self.keyword()
            if self.peek() == "!" and (self.peek(2)[1:] in (" ", "\t", "\n", "(", "") or self.peek(3) == "!\\\n"):
                self.i += 1
            elif word in ("time", "coproc"):
                self.i += len(word)
                self.blanks()
                while word == "time" and self.keyword() in ("-p", "--"):
                    self.i += 2
                    self.blanks()
                if word == "coproc":
                    self.coproc_name()
            else:
                return

    def coproc_name(self) -> None:
        """Skip the name of ``coproc NAME { ...; }``."""
        found = re.compile(r"[A-Za-z_]\w*[ \t]+(?=[{(])").match(self.s, self.i)
        if found:
            self.i = found.end()

    # -- commands ----------------------------------------------------------------------------------

    def keyword(self) -> str:
        """Return the bare word at this position without taking it (empty when it is not bare)."""
        j = self.i
        while j < len(self.s) and self.s[j] not in META:
            if self.s[j] in "'\"\\$`":
                return ""
            j += 1
        return self.s[self.i : j]

    def take(self, word: str) -> None:
        """Take the keyword ``word`` or refuse."""
        self.blanks(newlines=True)
        if self.keyword() != word:
            raise self.fail(f"expected {word}")
        self.i += len(word)

    def command(self) -> Command:
        """Parse one command with its redirections."""
        self.enter()
        self.blanks()
        node = self.compound()
        if node is None:
            node = self.function()
        result = self.simple() if node is None else self.with_redirects(node)
        self.leave()
        return result

    def compound(self) -> Command | None:
        """Parse a compound command; None when a simple command stands here."""
        if self.peek(2) == "((":
            start = self.i
            self.i += 2
            word = self.arithmetic()
            if word is not None:
                return ArithCommand(word)
            self.i = start
        if self.peek() == "(":
            self.i += 1
            return Compound("subshell", sequence=(self.parse_until(")"),))
        handler: Callable[[], Command] | None = {
            "{": self.group,
            "if": self.if_,
            "while": self.while_,
            "until": self.while_,
            "for": self.for_,
            "select": self.for_,
            "case": self.case,
            "function": self.function_keyword,
            "[[": self.test,
        }.get(self.keyword())
        if handler is None:
            return None
        self.i += len(self.keyword())
        return handler()

    def group(self) -> Command:
        """Parse ``{ ...; }``."""
        body = self.list_until(frozenset({"}"}))
        self.take("}")
        return Compound("group", sequence=(body,))

    def if_(self) -> Command:
        """Parse ``if`` through ``fi``."""
        conditions = [self.list_until(frozenset({"then"}))]
        self.take("then")
        branches = [self.list_until(frozenset({"elif", "else", "fi"}))]
        while self.keyword() == "elif":
            self.i += 4
            conditions.append(self.list_until(frozenset({"then"})))
            self.take("then")
            branches.append(self.list_until(frozenset({"elif", "else", "fi"})))
        if self.keyword() == "else":
            self.i += 4
            branches.append(self.list_until(frozenset({"fi"})))
        self.take("fi")
        return Compound("if", tuple(conditions), tuple(branches))

    def while_(self) -> Command:
        """Parse ``while`` and ``until``."""
        condition = self.list_until(frozenset({"do"}))
        return Compound("loop", sequence=(condition,), branches=(self.do_group(),))

    def do_group(self) -> Script:
        """Parse ``do ... done``."""
        self.take("do")
        body = self.list_until(frozenset({"done"}))
        self.take("done")
        return body

    def for_(self) -> Command:
        """Parse ``for`` and ``select``."""
        self.blanks()
        if self.peek(2) == "((":
            self.i += 2
            header = self.arithmetic()
            if header is None:
                raise self.fail("bad for header")
            self.optional_semicolon()
            return Compound("loop", branches=(self.do_group(),), patterns=(header,))
        name = self.word().literal() or ""
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise self.fail("bad loop variable")
        self.blanks(newlines=True)
        words: tuple[Word, ...] | None = None
        if self.keyword() == "in":
            self.i += 2
            words = self.words_to_line_end()
        self.optional_semicolon()
        return For(name, words, self.do_group())

    def optional_semicolon(self) -> None:
        """Skip one ``;`` if it is there."""
        self.blanks()
        if self.peek() == ";":
            self.i += 1

    def words_to_line_end(self) -> tuple[Word, ...]:
        """Read words up to ``;`` or a line end."""
        words: list[Word] = []
        self.blanks()
        while self.peek() not in (";", "\n", ""):
            before = self.i
            words.append(self.word())
            if self.i == before:
                raise self.fail("unexpected " + repr(self.peek()))
            self.blanks()
        return tuple(words)

    def case(self) -> Command:
        """Parse ``case ... esac``."""
        self.blanks()
        subject = self.word()
        self.take("in")
        patterns: list[Word] = []
        branches: list[Script] = []
        while True:
            self.blanks(newlines=True)
            if self.keyword() == "esac":
                break
            patterns.extend(self.case_patterns())
            branches.append(self.list_until(frozenset({"esac"})))
            for ending in (";;&", ";;", ";&"):
                if self.s.startswith(ending, self.i):
                    self.i += len(ending)
                    break
        self.take("esac")
        return Compound("case", branches=tuple(branches), words=(subject,), patterns=tuple(patterns))

    def case_patterns(self) -> list[Word]:
        """Parse ``(a | b)`` before a case branch."""
        if self.peek() == "(":
            self.i += 1
        patterns: list[Word] = []
        while True:
            self.blanks()
            before = self.i
            patterns.append(self.word())
            if self.i == before:
                raise self.fail("bad case pattern")
            self.blanks()
            if self.peek() not in ("|", ")") or self.peek(2) == "||":
                raise self.fail("bad case pattern")
            self.i += 1
            if self.s[self.i - 1] == ")":
                return patterns

    def test(self) -> Command:
        """Parse ``[[ ... ]]``."""
        words: list[Word] = []
        while True:
            self.blanks(newlines=True)
            if self.keyword() == "]]":
                self.i += 2
                return Test(tuple(words))
            if self.i >= len(self.s):
                raise self.fail("unclosed [[")
            if words and words[-1].bare() == "=~":
                words.append(self.regex())
            elif self.peek(2) in ("&&", "||"):
                words.append(Word((Lit(self.peek(2)),)))
                self.i += 2
            elif self.peek() == "(" and len(words) > 4 * self.max_depth:
                raise self.fail("nested too deeply")
            elif self.peek() in "()<>" and self.peek(2) not in ("<(", ">("):
                words.append(Word((Lit(self.peek()),)))
                self.i += 1
            else:
                before = self.i
                words.append(self.word())
                if self.i == before:
                    raise self.fail("unexpected " + repr(self.peek()) + " in [[")

    def regex(self) -> Word:
        """Take the right side of ``=~``: parentheses and bars belong to it, blanks outside parentheses end it."""
        parts: list[object] = []
        text: list[str] = []
        depth = 0
        while self.i < len(self.s):
            c = self.s[self.i]
            if c in " \t\n" and depth == 0:
                break
            depth += (c == "(") - (c == ")")
            self.unquoted_char(c, parts, text)  # type: ignore[arg-type]
        self.flush(parts, text)  # type: ignore[arg-type]
        return Word(tuple(parts))  # type: ignore[arg-type]

    def function_keyword(self) -> Command:
        """Parse ``function name [()] body``."""
        self.blanks()
        name = self.word().literal()
        self.blanks()
        found = re.compile(r"\([ \t]*\)").match(self.s, self.i)
        if found:
            self.i = found.end()
        if not name:
            raise self.fail("bad function name")
        return self.function_body(name)

    def function(self) -> Command | None:
        """Parse ``name() body``; None when no definition stands here."""
        found = _FUNCTION.match(self.s, self.i)
        if found is None or found.group()[-1] in "=?*@+!":
            return None
        self.i = found.end()
        self.i = self.s.index(")", self.i) + 1
        return self.function_body(found.group())

    def function_body(self, name: str) -> Command:
        """Parse the body of a function."""
        self.blanks(newlines=True)
        return Function(name, self.command())

    # -- simple commands and redirections ----------------------------------------------------------

    def with_redirects(self, node: Command) -> Command:
        """Attach the redirections that follow a compound command."""
        redirects: list[Redirect] = []
        self.blanks()
        while self.redirect(redirects):
            self.blanks()
        if not redirects:
            return node
        return Compound("redirected", sequence=(Script((AndOr((node,)),)),), redirects=redirects)

    def simple(self) -> Command:
        """Parse a simple command."""
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self.blanks()
            if self.redirect(redirects):
                continue
            if self.peek() == "" or (self.peek() in META and self.peek(2) not in ("<(", ">(")):
                break
            before = self.i
            word = self.word()
            if self.i == before:
                raise self.fail("unexpected " + repr(self.peek()))
            assignment = None if words else split_assignment(word)
            if assignment is not None:
                assignments.append(assignment)
            else:
                words.append(word)
        if not (assignments or words or redirects):
            raise self.fail("expected a command")
        if self.peek() == "(":
            raise self.fail("unexpected parenthesis")
        return Simple(tuple(assignments), tuple(words), redirects)

    def redirect(self, into: list[Redirect]) -> bool:
        """Take one redirection into ``into`` if one stands here."""
        found = _REDIRECT.match(self.s, self.i)
        if found is None or (self.peek(2) in ("<(", ">(") and not found.group(1) and len(found.group(2)) == 1):
            return False
        self.i = found.end()
        if self.peek(2) == "\\\n":
            raise self.fail("line continuation inside an operator")
        fd, op = found.groups()
        self.blanks()
        start = self.i
        target = self.word()
        if self.i == start:
            raise self.fail("redirection without a target")
        if op in ("<<", "<<-"):
            self.announce_here(Redirect(op, target, fd), self.s[start : self.i], into)
        else:
            into.append(Redirect(op, target, fd))
        return True

    def announce_here(self, redirect: Redirect, raw: str, into: list[Redirect]) -> None:
        """Remember that a body follows the line; it is put in place when it has been read."""
        delimiter = redirect.target.literal()
        if delimiter is None or "\n" in delimiter:
            raise self.fail("here-document delimiter that is not plain text")
        quoted = any(c in raw for c in "'\"\\")
        into.append(redirect)
        place = len(into) - 1

        def deliver(body: Word) -> None:
            into[place] = Redirect(redirect.op, redirect.target, redirect.fd, body)

        self.pending.append((redirect, delimiter, quoted, redirect.op == "<<-", deliver))


def split_assignment(word: Word) -> Assignment | None:
    """Return ``word`` as an assignment when bash would take it for one before a command."""
    if not word.parts or not isinstance(word.parts[0], Lit) or word.parts[0].quoted:
        return None
    first = word.parts[0].text
    found = _ASSIGN.match(first)
    if found is None:
        return None
    name, bracket, equals = found.groups()
    if bracket:
        return _subscripted(name, word, found.end(2))
    if not equals or found.end(3) != found.end(1) + len(equals):
        return None
    rest = first[found.end() :]
    parts = ((Lit(rest),) if rest else ()) + word.parts[1:]
    return Assignment(name, Word(parts), append=equals == "+=")


def _subscripted(name: str, word: Word, start: int) -> Assignment | None:
    first = word.parts[0]
    assert isinstance(first, Lit)
    parts = (Lit(first.text[start:]), *word.parts[1:])
    for index, part in enumerate(parts):
        if not isinstance(part, Lit) or part.quoted:
            continue
        found = re.search(r"\](\+?=)", part.text)
        if found:
            subscript = Word((*parts[:index], Lit(part.text[: found.start()])))
            rest = part.text[found.end() :]
            value = Word(((Lit(rest),) if rest else ()) + parts[index + 1 :])
            return Assignment(name, value, found.group(1) == "+=", subscript)
    return None


__all__ = ["BLANK", "Parser", "ShellSyntaxError", "parse", "split_assignment"]
