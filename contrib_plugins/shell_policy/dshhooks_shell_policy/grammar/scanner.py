"""Characters to words: quoting, expansions and here-document bodies, as bash reads them.

Where bash itself has a second reading (a continuation in the middle of an operator, a here-document whose
delimiter never comes), the scanner raises ``ShellSyntaxError`` instead of choosing one.
"""

from __future__ import annotations

from collections.abc import Callable

from ..patterns import later
from .ansi import decode_ansi_c
from .nodes import (
    Arith,
    ArrayLit,
    CommandSub,
    Lit,
    Param,
    Part,
    ProcessSub,
    Redirect,
    Script,
    ShellSyntaxError,
    Word,
)
from .operators import OPERATORS

MAX_STEPS = 50_000
BLANK = " \t"
META = " \t\n;&|<>()"
_NAME = later(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_PLAIN_NAME = later(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_ARRAY_START = later(r"[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=\Z")
_EXTGLOB = "?*@+!"


class Scanner:
    """Reads words from ``text``; the parser adds commands on top.

    ``depth`` counts nesting of every kind and is bounded by ``max_depth``, so recursion is too.
    """

    def __init__(self, text: str, *, depth: int = 0, max_depth: int = 40, steps: list[int] | None = None) -> None:
        self.s = text
        self.i = 0
        self.depth = depth
        self.max_depth = max_depth
        self.steps = [MAX_STEPS] if steps is None else steps  # shared with sub-parsers: retries cannot explode
        self.pending: list[tuple[Redirect, str, bool, bool, Callable[[Word], None]]] = []

    # -- small steps -------------------------------------------------------------------------------

    def peek(self, n: int = 1) -> str:
        """Return the next ``n`` characters without taking them."""
        return self.s[self.i : self.i + n]

    def fail(self, what: str) -> ShellSyntaxError:
        """Build the error for ``what`` at the current position."""
        return ShellSyntaxError(f"{what} at character {self.i}")

    def enter(self) -> None:
        """Go one level deeper, or refuse."""
        self.depth += 1
        self.steps[0] -= 1
        if self.steps[0] < 0:
            raise self.fail("too much to parse")
        if self.depth > self.max_depth:
            raise self.fail("nested too deeply")

    def leave(self) -> None:
        """Come back from one level."""
        self.depth -= 1

    def parse_until(self, closer: str) -> Script:
        """Parse commands up to ``closer`` and take it (the parser's part)."""
        raise NotImplementedError

    def subparser(self, text: str) -> Scanner:
        """Return a parser for ``text`` that continues counting depth here."""
        return type(self)(text, depth=self.depth + 1, max_depth=self.max_depth, steps=self.steps)

    def parse_all(self) -> Script:
        """Parse the whole text (the parser's part)."""
        raise NotImplementedError

    # -- words -------------------------------------------------------------------------------------

    def word(self, stop: str = META) -> Word:
        """Read one unquoted-context word up to a character of ``stop``."""
        self.enter()
        parts: list[Part] = []
        text: list[str] = []
        while self.i < len(self.s):
            c = self.s[self.i]
            if c in "<>" and self.peek(2)[1:] == "(" and stop is META:
                self.flush(parts, text)
                parts.append(self.process_sub())
            elif c in stop:
                if c == "(" and stop is META and _ARRAY_START.match(_bare_text(parts, text)):
                    self.flush(parts, text)
                    parts.append(self.array())
                    continue
                break
            elif c in _EXTGLOB and self.peek(2)[1:] == "(" and stop is META:
                self.flush(parts, text)
                self.i += 1
                parts.extend(self.extglob(c))
            else:
                self.unquoted_char(c, parts, text)
        self.flush(parts, text)
        self.leave()
        return Word(tuple(parts))

    def unquoted_char(self, c: str, parts: list[Part], text: list[str]) -> None:
        """Take one character or construct outside quotes."""
        if c == "\\":
            if self.peek(2) == "\\\n":
                self.i += 2
                return
            if self.i + 1 >= len(self.s):
                raise self.fail("backslash at the end")
            self.flush(parts, text)
            parts.append(Lit(self.s[self.i + 1], quoted=True))
            self.i += 2
        elif c == "'":
            self.flush(parts, text)
            parts.append(Lit(self.single_quoted(), quoted=True))
        elif c == '"':
            self.flush(parts, text)
            parts.extend(self.double_quoted())
        elif c in "$`":
            self.dollar(parts, text, quoted=False)
        else:
            text.append(c)
            self.i += 1

    def flush(self, parts: list[Part], text: list[str], quoted: bool = False) -> None:
        """Turn collected characters into a literal part."""
        if text:
            parts.append(Lit("".join(text), quoted))
            text.clear()

    def single_quoted(self) -> str:
        """Take ``'...'`` and return its characters."""
        end = self.s.find("'", self.i + 1)
        if end < 0:
            raise self.fail("unclosed single quote")
        text = self.s[self.i + 1 : end]
        self.i = end + 1
        return text

    def double_quoted(self) -> list[Part]:
        """Take ``"..."``; an empty string still yields one (empty) quoted part."""
        self.i += 1
        parts = self.quoted_parts(lambda: self.peek() == '"', '"$`\\')
        if self.peek() != '"':
            raise self.fail("unclosed double quote")
        self.i += 1
        return parts or [Lit("", quoted=True)]

    def quoted_parts(self, at_end: Callable[[], bool], escapable: str) -> list[Part]:
        """Take characters as inside double quotes until ``at_end`` or the end of the text."""
        parts: list[Part] = []
        text: list[str] = []
        while self.i < len(self.s) and not at_end():
            c = self.s[self.i]
            if c == "\\" and self.i + 1 < len(self.s):
                following = self.s[self.i + 1]
                if following != "\n":
                    text.append(following if following in escapable else c + following)
                self.i += 2
            elif c in "$`":
                self.dollar(parts, text, quoted=True)
            else:
                text.append(c)
                self.i += 1
        self.flush(parts, text, quoted=True)
        return parts

    # -- expansions --------------------------------------------------------------------------------

    def dollar(self, parts: list[Part], text: list[str], quoted: bool) -> None:
        """Take an expansion that starts with ``$`` or a backquote, or the bare character."""
        if self.peek() == "`":
            self.flush(parts, text, quoted)
            parts.append(self.backquotes(quoted))
            return
        two = self.peek(2)
        if two == "$\\" and self.peek(3) == "$\\\n":
            raise self.fail("line continuation inside an expansion")
        special = self.expansion(two, quoted)
        if special is None:
            text.append("$")
            self.i += 1
            return
        self.flush(parts, text, quoted)
        parts.extend(special)

    def expansion(self, two: str, quoted: bool) -> list[Part] | None:
        """Take the construct that begins with ``two``; None when the dollar is just a dollar."""
        if two == "$(":
            return [self.arithmetic_or_command(quoted)]
        if two == "${":
            return [self.braced_param(quoted)]
        if two == "$[":
            raise self.fail("old-style arithmetic")
        if not quoted and two == "$'":
            return [Lit(self.ansi_c(), quoted=True)]
        if not quoted and two == '$"':
            self.i += 1
            return self.double_quoted()
        found = _PLAIN_NAME.match(self.s, self.i + 1)
        if found is None:
            return None
        self.i = found.end()
        return [Param(found.group(), quoted=quoted)]

    def ansi_c(self) -> str:
        """Take ``$'...'`` and decode its escapes."""
        j = self.i + 2
        while j < len(self.s) and self.s[j] != "'":
            j += 2 if self.s[j] == "\\" else 1
        if j >= len(self.s):
            raise self.fail("unclosed ANSI-C quote")
        raw = self.s[self.i + 2 : j]
        self.i = j + 1
        return decode_ansi_c(raw)

    def backquotes(self, quoted: bool) -> CommandSub:
        """Take a backquoted substitution: its text is unescaped once and parsed on its own."""
        self.i += 1
        inner: list[str] = []
        while self.i < len(self.s) and self.s[self.i] != "`":
            c = self.s[self.i]
            following = self.s[self.i + 1 : self.i + 2]
            if c == "\\" and following and following in ("`\\$" + ('"' if quoted else "")):
                inner.append(following)
                self.i += 2
            else:
                inner.append(c)
                self.i += 1
        if self.i >= len(self.s):
            raise self.fail("unclosed backquote")
        self.i += 1
        self.enter()
        script = self.subparser("".join(inner)).parse_all()
        self.leave()
        return CommandSub(script, quoted)

    def arithmetic_or_command(self, quoted: bool) -> Part:
        """Take ``$((...))`` when it closes as arithmetic, otherwise ``$(...)``."""
        start = self.i
        if self.peek(3) == "$((":
            self.i += 3
            expression = self.arithmetic()
            if expression is not None:
                return Arith(expression, quoted)
            self.i = start
        self.i += 2
        self.enter()
        script = self.parse_until(")")
        self.leave()
        return CommandSub(script, quoted)

    def arithmetic(self) -> Word | None:
        """Take an arithmetic expression through its ``))``; None when it does not close that way."""
        self.enter()
        depth = 0
        parts: list[Part] = []
        text: list[str] = []
        while self.i < len(self.s):
            c = self.s[self.i]
            if c == ")" and depth == 0:
                self.leave()
                if self.peek(2) != "))":
                    return None
                self.i += 2
                self.flush(parts, text)
                return Word(tuple(parts))
            depth += (c == "(") - (c == ")")
            if depth > 2 * self.max_depth:
                raise self.fail("nested too deeply")
            if c in "()":
                text.append(c)
                self.i += 1
            else:
                self.unquoted_char(c, parts, text)
        self.leave()
        return None

    def braced_param(self, quoted: bool) -> Param:
        """Take ``${...}``."""
        self.i += 2
        self.enter()
        prefix = ""
        if self.peek() in ("#", "!") and self.peek(2)[1:] not in ("}", "", ":", "-", "%", "/", "="):
            prefix = self.peek()
            self.i += 1
        found = _NAME.match(self.s, self.i)
        if found is None:
            raise self.fail("bad parameter expansion")
        self.i = found.end()
        subscript = None
        if self.peek() == "[":
            self.i += 1
            subscript = self.word("]")
            if self.peek() != "]":
                raise self.fail("unclosed subscript")
            self.i += 1
        op, word = self.param_operation(quoted)
        self.leave()
        return Param(found.group(), op, word, subscript, quoted, prefix)

    def param_operation(self, quoted: bool) -> tuple[str, Word | None]:
        """Take the operator, its word and the closing brace."""
        op = next((op for op in OPERATORS if self.s.startswith(op, self.i)), "")
        self.i += len(op)
        if not op:
            if self.peek() != "}":
                raise self.fail("bad parameter expansion")
            self.i += 1
            return op, None
        literal_quotes = quoted and op in (":-", ":=", ":?", ":+", "-", "=", "?", "+")
        word = self.braced_word(literal_quotes)
        if self.peek() != "}":
            raise self.fail("unclosed parameter expansion")
        self.i += 1
        return op, word

    def braced_word(self, literal_quotes: bool) -> Word:
        """Take the word of ``${x op word}`` up to its closing brace."""
        parts: list[Part] = []
        text: list[str] = []
        while self.i < len(self.s) and self.s[self.i] != "}":
            c = self.s[self.i]
            if c == "'" and literal_quotes:
                text.append(c)
                self.i += 1
            else:
                self.unquoted_char(c, parts, text)
        self.flush(parts, text)
        return Word(tuple(parts))

    def process_sub(self) -> ProcessSub:
        """Take ``<(...)`` or ``>(...)``."""
        direction = self.peek()
        self.i += 2
        self.enter()
        script = self.parse_until(")")
        self.leave()
        return ProcessSub(script, direction)

    def array(self) -> ArrayLit:
        """Take ``(word word ...)``."""
        self.i += 1
        items: list[Word] = []
        while True:
            self.blanks(newlines=True)
            if self.peek() == ")":
                self.i += 1
                return ArrayLit(tuple(items))
            before = self.i
            item = self.word()
            if self.i == before:
                raise self.fail("bad array")
            items.append(item)

    def extglob(self, opener: str) -> list[Part]:
        """Take ``?(...)`` and its kin as unquoted pattern text, keeping substitutions inside it."""
        self.enter()
        parts: list[Part] = []
        text = [opener, "("]
        self.i += 1
        depth = 1
        while depth:
            if self.i >= len(self.s):
                raise self.fail("unclosed pattern")
            c = self.s[self.i]
            depth += (c == "(") - (c == ")")
            if c in "()":
                text.append(c)
                self.i += 1
            else:
                self.unquoted_char(c, parts, text)
        self.flush(parts, text)
        self.leave()
        return parts

    # -- between words -----------------------------------------------------------------------------

    def blanks(self, newlines: bool = False) -> None:
        """Skip blanks, continuations and comments; with ``newlines`` line ends too (and read here-documents)."""
        while self.i < len(self.s):
            c = self.s[self.i]
            if c in BLANK:
                self.i += 1
            elif self.peek(2) == "\\\n":
                self.i += 2
            elif c == "#" and self.starts_word():
                end = self.s.find("\n", self.i)
                self.i = len(self.s) if end < 0 else end
            elif c == "\n" and newlines:
                self.newline()
            else:
                return

    def starts_word(self) -> bool:
        """Say whether the current character begins a word, as a comment must."""
        j = self.i
        while self.s[j - 2 : j] == "\\\n" and j >= 2:
            j -= 2
        return j == 0 or self.s[j - 1] in META

    def newline(self) -> None:
        """Take a line end and the bodies of the here-documents announced on the line."""
        self.i += 1
        waiting, self.pending = self.pending, []
        for _redirect, delimiter, quoted, strip, deliver in waiting:
            deliver(self.here_body(delimiter, quoted, strip))

    def here_body(self, delimiter: str, quoted: bool, strip: bool) -> Word:
        """Read the lines up to ``delimiter``; unquoted bodies join continued lines first, as bash does."""
        lines: list[str] = []
        while True:
            if self.i >= len(self.s):
                raise self.fail("here-document without its delimiter")
            line, raw = self.logical_line(joined=not quoted)
            if strip:
                line, raw = line.lstrip("\t"), raw.lstrip("\t")
            if line == delimiter:
                break
            lines.append(raw + "\n")
        body = "".join(lines)
        if quoted:
            return Word((Lit(body, quoted=True),))
        inner = self.subparser(body)
        return Word(tuple(inner.quoted_parts(lambda: False, "$`\\")))

    def logical_line(self, joined: bool) -> tuple[str, str]:
        """Take one line; with ``joined`` a line that ends in an odd backslash takes the next one along."""
        start, joined_text = self.i, ""
        while True:
            end = self.s.find("\n", self.i)
            end = len(self.s) if end < 0 else end
            line = self.s[self.i : end]
            self.i = min(end + 1, len(self.s))
            trailing = len(line) - len(line.rstrip("\\"))
            if not joined or trailing % 2 == 0 or self.i >= len(self.s):
                return joined_text + line, self.s[start:end]
            joined_text += line[:-1]


def _bare_text(parts: list[Part], text: list[str]) -> str:
    if any(not isinstance(part, Lit) or part.quoted for part in parts):
        return ""
    return "".join(part.text for part in parts if isinstance(part, Lit)) + "".join(text)
