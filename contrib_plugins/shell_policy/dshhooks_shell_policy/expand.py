"""Words to arguments: brace, parameter, command and arithmetic expansion, then splitting, as far as they are static.

Substitutions are run through the engine on the way, so nothing inside a word escapes judgement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .braces import expand_braces
from .grammar.nodes import Arith, ArrayLit, CommandSub, Lit, Param, Part, ProcessSub, Word
from .parameters import edited, element, slice_, sum_of_products
from .patterns import later
from .state import State
from .values import NO_TAGS, UNKNOWN, Arg, Out, Value, unknown

if TYPE_CHECKING:
    from .engine import Engine

_GLOB = later(r"[*?\[]|[+@!]\(")
_IDENTIFIER = later(r"[A-Za-z_]\w*")
_SUBSCRIPT_CODE = later(r"\[[^\]]*(?:\$\(|`|\$\{|<\()")
_PLACED = later(r"\[.*\]\+?=")
_INTEGER = later(r"[\s\d+*-]+")
MAX_FIELDS = 4000
MAX_TEXT = 80_000

#: Values the policy assumes for variables the script did not set.
_ASSUMED = {"HOME": "~", "PWD": ".", "TMPDIR": "/tmp", "IFS": " \t\n", "SHELL": "bash", "BASH": "bash", "0": "bash"}
_NUMERIC = frozenset("?#$!-") | {
    "RANDOM",
    "SECONDS",
    "LINENO",
    "UID",
    "EUID",
    "BASHPID",
    "OPTIND",
    "COLUMNS",
    "LINES",
    "SHLVL",
    "EPOCHSECONDS",
    "PIPESTATUS",
}


class _Fields:
    """Collects the fields one word expands to."""

    def __init__(self) -> None:
        self.done: list[Arg] = []
        self.text: list[str] = []
        self.tags: frozenset[str] = NO_TAGS
        self.glob = self.split = self.seen = False

    def add(
        self, text: str, tags: frozenset[str] = NO_TAGS, *, glob: bool = False, split: bool = False, seen: bool = True
    ) -> None:
        self.text.append(text)
        self.tags |= tags
        self.glob |= glob
        self.split |= split
        self.seen |= seen or bool(text)

    def cut(self) -> None:
        if self.seen:
            text = "".join(self.text)
            if len(text) > MAX_TEXT:  # values that double with every assignment
                text, self.split = UNKNOWN, True
            self.done.append(Arg(text, self.tags, self.glob, self.split))
        self.text, self.tags = [], NO_TAGS
        self.glob = self.split = self.seen = False


class Expander:
    """Expands the words of one command in one state."""

    def __init__(self, engine: Engine, state: State) -> None:
        self.engine = engine
        self.state = state

    def fields(self, words: Iterable[Word]) -> list[Arg]:
        """Expand ``words`` as arguments of a command."""
        result: list[Arg] = []
        for word in words:
            for variant in expand_braces(word):
                fields = _Fields()
                self._parts(variant.parts, fields)
                fields.cut()
                result.extend(fields.done)
        if len(result) > MAX_FIELDS:  # every word has been expanded: what runs inside them has been judged
            self.engine.ask("too many words to follow")
            return [*result[:MAX_FIELDS], unknown("many", split=True)]
        return result

    def single(self, word: Word) -> Arg:
        """Expand ``word`` without splitting: an assignment's value, a redirection's target, a here-string."""
        fields = _Fields()
        self._parts(_all_quoted(word), fields)
        fields.seen = True
        fields.cut()
        texts = fields.done
        joined = " ".join(arg.text for arg in texts)
        glob = any(isinstance(part, Lit) and not part.quoted and _GLOB.search(part.text) for part in word.parts)
        return Arg(joined, frozenset().union(*(arg.tags for arg in texts)), glob=glob)

    def value(self, word: Word) -> Value:
        """Expand the right side of an assignment: an array when it is one."""
        if word.parts and isinstance(word.parts[0], ArrayLit):
            items = tuple(self.fields(word.parts[0].items))
            return unknown("array") if any(_PLACED.match(item.text) for item in items) else items
        return self.single(word)

    def visit(self, words: Iterable[Word]) -> None:
        """Run the substitutions inside ``words`` when their values do not matter."""
        for word in words:
            self.single(word)

    # -- parts -------------------------------------------------------------------------------------

    def _parts(self, parts: Iterable[Part], out: _Fields) -> None:
        for part in parts:
            if isinstance(part, Lit):
                out.add(part.text, glob=not part.quoted and bool(_GLOB.search(part.text)), seen=part.quoted)
            elif isinstance(part, Param):
                self._param(part, out)
            elif isinstance(part, CommandSub):
                self._output(self.engine.substitution(part.script, self.state), part.quoted, out)
            elif isinstance(part, Arith):
                self._scalar(self.arith(part.word), True, out)
            elif isinstance(part, ProcessSub):
                out.add(self.engine.process_substitution(part, self.state))
            elif isinstance(part, ArrayLit):
                for arg in self.fields(part.items):
                    out.add(arg.text, arg.tags)

    def _output(self, result: Out, quoted: bool, out: _Fields) -> None:
        if result.text is None:
            certain = bool(result.tags) and result.tags <= {"num", "hook", "mktemp"}
            out.add(UNKNOWN, result.tags if certain else result.tags | {"sub"}, split=not quoted)
        else:
            self._scalar(Arg(result.text.rstrip("\n"), result.tags), quoted, out)

    def _scalar(self, arg: Arg, quoted: bool, out: _Fields) -> None:
        if quoted:
            out.add(arg.text, arg.tags, split=arg.split)
            return
        pieces = self._split(arg.text)
        for index, piece in enumerate(pieces):
            if index:
                out.cut()
            if piece:
                out.add(
                    piece,
                    arg.tags,
                    glob=arg.glob or bool(_GLOB.search(piece)),
                    split=UNKNOWN in piece and not arg.tags & {"num", "mktemp"},
                )
            else:
                out.tags |= arg.tags

    def _split(self, text: str) -> list[str]:
        separators = " \t\n"
        values = self.state.vars.get("IFS")
        if values and isinstance(values[0], Arg):
            separators = values[0].text if values[0].known else " \t\n/:,;|"
        if not separators:
            return [text]
        return re.split("[" + re.escape(separators) + "]+", text)

    # -- parameters --------------------------------------------------------------------------------

    def _param(self, part: Param, out: _Fields) -> None:
        if part.subscript is not None:
            self.arith(part.subscript)
        if part.name == "IFS" and not part.op and not part.quoted and not self.state.known_var("IFS"):
            out.cut()
            return
        value = self._operated(part)
        if isinstance(value, Arg):
            self._scalar(value, part.quoted, out)
            return
        for index, item in enumerate(value):
            if index:
                out.cut()
            self._scalar(item, part.quoted, out)

    def _operated(self, part: Param) -> Value:
        value = self.lookup(part)
        argument = self.single(part.word) if part.word is not None else Arg("")
        if part.prefix:
            return self._indirect(part, value)
        if not part.op:
            return value
        if part.op == "@":
            return self._transformed(part, value, argument)
        if part.op == ":":
            self.arith_text(argument.text)
            if part.name in ("PATH", "HOME", "PWD", "SHELL", "OLDPWD") and argument.text.replace(" ", "") == "0:1":
                return Arg("/")  # the usual way to spell a slash without one
        if isinstance(value, tuple) and part.op == ":":
            return slice_(value, argument.text)
        if isinstance(value, tuple):
            return tuple(Arg(UNKNOWN, item.tags) for item in value)
        if part.op in (":-", "-", ":=", "=", ":+", "+", ":?", "?"):
            return self._defaulted(part, value, argument)
        return edited(part.op, value, argument, self.state)

    def _indirect(self, part: Param, value: Value) -> Value:
        if part.prefix == "#":
            return Arg(UNKNOWN, frozenset({"num"}))
        if part.op == "@" and part.word is not None and (part.word.literal() or "").startswith("P"):
            self.engine.ask("prompt expansion of a value that is not known")
        if isinstance(value, Arg) and value.known and value.text.isidentifier() and not part.op:
            return self.lookup(Param(value.text))
        if (
            isinstance(value, tuple)
            or part.op in ("@",)
            or (part.subscript is not None and part.subscript.literal() in ("@", "*"))
        ):
            return Arg(UNKNOWN, frozenset({"num"}))  # ${!array[@]}: the indices
        return Arg(UNKNOWN, frozenset({"indirect"}))

    def _transformed(self, part: Param, value: Value, argument: Arg) -> Value:
        values = value if isinstance(value, tuple) else (value,)
        if argument.text.startswith("P"):
            for item in values:
                if not item.known:
                    self.engine.ask("prompt expansion of a value that is not known")
                elif re.search(r"\$\(|`|\$\{", item.text):
                    self.engine.ask("prompt expansion (@P) runs the substitutions in the value")
                    self.engine.text('"' + item.text.replace('"', "") + '"', self.state, words_only=True)
        return tuple(Arg(UNKNOWN, item.tags) for item in values)

    def _defaulted(self, part: Param, value: Value, argument: Arg) -> Value:
        assert isinstance(value, Arg)
        operator = part.op[-1]
        if operator == "=" and not self.state.known_var(part.name):
            merged = argument if argument.text == value.text else Arg(UNKNOWN, value.tags | argument.tags)
            self.state.assign(part.name, merged)
        if self.state.known_var(part.name) and value.known:
            present = bool(value.text) or not part.op.startswith(":")
            if operator == "+":
                return argument if present else Arg("")
            return value if present else argument
        if operator == "?":
            return value
        if operator in "-=" and not self.state.known_var(part.name):
            return Arg(argument.text, argument.tags | value.tags | {"assumed"})  # the likely value, not a certain one
        return Arg(UNKNOWN, value.tags | argument.tags)

    def lookup(self, part: Param) -> Value:
        """Return what the variable holds, before the operator."""
        name = part.name
        if name in _NUMERIC and not self.state.known_var(name):
            return Arg(UNKNOWN, frozenset({"num", "var:" + name}))
        if name in ("@", "*") or (name.isdigit() and name != "0"):
            return self._positional(name)
        values = self.state.vars.get(name)
        if values is None:
            if name in _ASSUMED:
                return Arg(self.state.cwds[0] if name == "PWD" else _ASSUMED[name])
            return Arg(UNKNOWN, frozenset({"env:" + name}))
        value = values[0] if len(values) == 1 else Arg(UNKNOWN)
        return element(value, part.subscript) if isinstance(value, tuple) else value

    def _positional(self, name: str) -> Value:
        positional = self.state.positional
        if positional is None:
            return unknown("positional")
        if name in ("@", "*"):
            return positional
        index = int(name) - 1
        return positional[index] if index < len(positional) else Arg("")

    # -- arithmetic --------------------------------------------------------------------------------

    def arith(self, word: Word) -> Arg:
        """Judge an arithmetic expression: bash evaluates variables in it again, subscripts included."""
        if word.literal() in ("@", "*"):
            return Arg("")
        expanded = self.single(word)
        self.arith_text(expanded.text)
        text = expanded.text.strip()
        if text and _INTEGER.fullmatch(text) and len(text) < 30 and "**" not in text:
            try:
                return Arg(str(sum_of_products(text)), frozenset({"num"}))
            except ValueError:
                pass
        return Arg(UNKNOWN, frozenset({"num"}))

    def arith_text(self, text: str, depth: int = 0) -> None:
        """Judge text that is evaluated as an arithmetic expression."""
        if _SUBSCRIPT_CODE.search(text):
            self.engine.deny("a subscript inside an arithmetic expression runs a command")
            return
        if depth > 4:
            return
        for name in _IDENTIFIER.findall(text):
            for value in self.state.vars.get(name, ()):
                if isinstance(value, Arg) and value.text != text:
                    self.arith_text(value.text, depth + 1)


def _all_quoted(word: Word) -> Iterator[Part]:
    for part in word.parts:
        yield (
            part
            if isinstance(part, (ProcessSub, ArrayLit)) or (isinstance(part, Param) and part.quoted)
            else part.replaced(quoted=True)
        )


def names_used(words: Iterable[Word]) -> set[str]:
    """Return the variables ``words`` refer to outside substitutions."""
    names: set[str] = set()
    for word in words:
        for part in word.parts:
            if isinstance(part, Param):
                names.add(part.name)
                names |= names_used([w for w in (part.word, part.subscript) if w is not None])
            elif isinstance(part, ArrayLit):
                names |= names_used(part.items)
            elif isinstance(part, Arith):
                names |= names_used([part.word])
    return names
