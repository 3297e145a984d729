"""The walk over the syntax tree: which commands run, in what state, and what flows between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from hookspecs.plain import Plain

from .expand import Expander, names_used
from .grammar.nodes import (
    AndOr,
    ArithCommand,
    Assignment,
    Command,
    Compound,
    For,
    Function,
    Pipeline,
    ProcessSub,
    Redirect,
    Script,
    Simple,
    Test,
    Word,
)
from .paths import is_precious
from .patterns import later
from .state import State
from .values import ANYTHING, NO_TAGS, NOTHING, Arg, Out, unknown

if TYPE_CHECKING:
    from .engine import Engine

MAX_COMBINATIONS = 16
_EVALUATED = later(r"\s*[A-Za-z_]\w*\[[^\]]*(?:\$\(|`)")
_READS = ("<", "<>")
_WRITES = (">", ">>", ">|", "&>", "&>>", "<>")


class Sink(Plain):
    """A file standard output goes to, from its start or behind what it holds."""

    target: Arg
    append: bool


class Walker:
    """Runs nodes abstractly; the engine supplies judgement."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def script(self, script: Script, state: State, stdin: Out) -> Out:
        """Run a list of commands and return what it prints."""
        return _joined(self.node(item, state, stdin) for item in script.items)

    def node(self, node: Command, state: State, stdin: Out) -> Out:
        """Run one node."""
        if isinstance(node, Simple):
            return self.simple(node, state, stdin)
        if isinstance(node, Script):
            return self.script(node, state, stdin)
        if isinstance(node, AndOr):
            return self.and_or(node, state, stdin)
        if isinstance(node, Pipeline):
            return self.pipeline(node, state, stdin)
        if isinstance(node, Compound):
            return self.compound(node, state, stdin)
        if isinstance(node, For):
            return self.for_(node, state, stdin)
        if isinstance(node, Function):
            self.engine.define(node, state)
        elif isinstance(node, Test):
            self.engine.test_words(Expander(self.engine, state).fields(node.words), state)
        elif isinstance(node, ArithCommand):
            Expander(self.engine, state).arith(node.word)
            self._arith_assign(node.word, state)
        return NOTHING

    # -- lists and pipelines -----------------------------------------------------------------------

    def and_or(self, node: AndOr, state: State, stdin: Out) -> Out:
        """Run a chain: every command of it may be the last one that ran."""
        current = state.fork() if node.background else state
        if node.background:
            current.in_background = True
            if state.endless:
                self.engine.ask("an endless loop starts background processes")
        ends: list[State] = []
        outs: list[Out] = []
        for index, item in enumerate(node.items):
            if index:
                ends.append(current.fork())
            outs.append(self.node(item, current, stdin))
        if ends:
            current.become([current.fork(), *ends])
        if node.background:
            state.files.update(current.files)
        return _joined(outs)

    def pipeline(self, node: Pipeline, state: State, stdin: Out) -> Out:
        """Run each command of a pipeline in its own subshell, feeding it what the one before prints."""
        flowing = stdin
        for command in node.commands:
            inner = state.fork()
            inner.in_background = True
            flowing = self.node(command, inner, flowing)
            state.files.update(inner.files)
            state.unpacked |= inner.unpacked
        return flowing

    # -- compound commands -------------------------------------------------------------------------

    def compound(self, node: Compound, state: State, stdin: Out) -> Out:
        """Run ``{ }``, ``( )``, ``if``, ``while``, ``case`` and anything with redirections around it."""
        if node.kind == "redirected":
            stdin, sinks = self.redirects(node.redirects, state, stdin)
            return self._sink(self.script(node.sequence[0], state, stdin), sinks, state)
        if node.kind == "subshell":
            inner = state.fork()
            out = self.script(node.sequence[0], inner, stdin)
            state.files.update(inner.files)
            state.unpacked |= inner.unpacked
            return out
        expander = Expander(self.engine, state)
        expander.visit((*node.words, *(p for p in node.patterns if node.kind == "case")))
        if node.kind == "loop":
            return self._loop(node, state, stdin)
        outs = [self.script(part, state, stdin) for part in node.sequence]
        ends = [] if node.kind == "group" else [state.fork()]
        for branch in node.branches:
            inner = state.fork()
            outs.append(self.script(branch, inner, stdin))
            ends.append(inner)
        if ends:
            state.become(ends)
        return _joined(outs) if node.kind == "group" else Out(None, _joined(outs).tags)

    def _loop(self, node: Compound, state: State, stdin: Out) -> Out:
        for header in node.patterns:
            Expander(self.engine, state).arith(header)
            self._arith_assign(header, state)
        before = state.endless
        tags: frozenset[str] = NO_TAGS
        for _ in range(2):  # the second round sees what the first one changed
            for condition in node.sequence:
                tags |= self.script(condition, state, stdin).tags
            skipped = state.fork()
            state.endless = before or _is_endless(node)
            for body in node.branches:
                tags |= self.script(body, state, stdin).tags
            state.endless = before
            state.become([state.fork(), skipped])
        return Out(None, tags)

    def for_(self, node: For, state: State, stdin: Out) -> Out:
        """Run the body for every word of the list, in order."""
        words = node.words
        values = (
            list(state.positional or (unknown("positional"),))
            if words is None
            else Expander(self.engine, state).fields(words)
        )
        if values and all(value.text.isdigit() for value in values):
            values = [unknown("num")] * min(2, len(values))
        skipped = state.fork()
        tags: frozenset[str] = NO_TAGS
        for value in values:
            loose = value.glob or not value.known
            state.assign(node.name, Arg(value.text, value.tags | {"glob"} if loose else value.tags))
            tags |= self.script(node.body, state, stdin).tags
        state.become([state.fork(), skipped] if values else [skipped])
        return Out(None, tags)

    def _arith_assign(self, word: Word, state: State) -> None:
        for name in names_in_arith(word):
            if state.known_var(name):
                state.assign(name, unknown("num"))

    # -- simple commands ---------------------------------------------------------------------------

    def simple(self, node: Simple, state: State, stdin: Out) -> Out:
        """Run a simple command once for every combination of the values its variables may have."""
        words = [*node.words, *(a.value for a in node.assignments), *(r.target for r in node.redirects)]
        words += [r.body for r in node.redirects if r.body is not None]
        several = sorted(name for name in names_used(words) if len(state.vars.get(name, ())) > 1)
        if not several:
            return self._simple(node, state, stdin)
        choices = list(product(*(state.vars[name] for name in several)))
        if len(choices) > MAX_COMBINATIONS:
            choices = [tuple(unknown("many") for _ in several)]
        ends, outs = [], []
        for choice in choices:
            inner = state.fork()
            for name, value in zip(several, choice, strict=True):
                inner.assign(name, value)
            outs.append(self._simple(node, inner, stdin))
            ends.append(inner)
        state.become(ends)
        same = len({out.text for out in outs}) == 1
        return Out(outs[0].text if same else None, _joined(outs).tags)

    def _simple(self, node: Simple, state: State, stdin: Out) -> Out:
        expander = Expander(self.engine, state)
        argv = expander.fields(node.words)
        if not argv and not node.assignments and any(r.op in ("<", "<<<") for r in node.redirects):
            argv = [Arg("cat")]  # $(<file), and what other shells do with a bare redirection
        scoped = state.fork() if argv else state
        for assignment in node.assignments:
            self.assign(assignment, scoped, expander)
        if argv and node.assignments:
            keep = {name: state.vars.get(name) for name in (a.name for a in node.assignments)}
            state.vars.update(scoped.vars)
            out = self._with_redirects(node, argv, state, stdin)
            for name, old in keep.items():
                state.vars.pop(name, None) if old is None else state.vars.update({name: old})
            return out
        return self._with_redirects(node, argv, state, stdin)

    def _with_redirects(self, node: Simple, argv: list[Arg], state: State, stdin: Out) -> Out:
        stdin, sinks = self.redirects(node.redirects, state, stdin)
        if sinks and [a.text for a in argv] in (
            [],
            [":"],
            ["true"],
            ["cat", "/dev/null"],
            ["echo"],
            ["echo", ""],
            ["echo", "-n"],
            ["printf", ""],
        ):
            for target in (sink.target for sink in sinks if not sink.append):
                if target.tags & {"stdin", "sub", "glob", "file"} and "mktemp" not in target.tags:
                    self.engine.ask("empties files whose names are not known")
                elif any(is_precious(place) for place in self.engine.places(target, state)):
                    self.engine.ask("empties " + target.text)
        out = self.engine.command(argv, state, stdin) if argv else NOTHING
        return self._sink(out, sinks, state)

    def assign(self, node: Assignment, state: State, expander: Expander) -> None:
        """Perform one assignment, judging variables that arm later commands."""
        if node.subscript is not None:
            expander.arith(node.subscript)
        value = expander.value(node.value)
        old = state.vars.get(node.name, (Arg(""),))[0]
        if node.append:
            value = _appended(old, value)
        elif node.subscript is not None:
            value = (*old, value) if isinstance(old, tuple) and isinstance(value, Arg) else unknown("array")
        if isinstance(value, Arg) and _EVALUATED.match(value.text):
            self.engine.ask(f"{node.name} holds a subscript that runs a command wherever it is evaluated")
        self.engine.arm(node.name, value, state)
        state.assign(node.name, value)

    # -- redirections ------------------------------------------------------------------------------

    def redirects(self, redirects: Iterable[Redirect], state: State, stdin: Out) -> tuple[Out, list[Sink]]:
        """Perform redirections; return the new standard input and the files standard output goes to."""
        sinks: list[Sink] = []
        expander = Expander(self.engine, state)
        for redirect in redirects:
            if redirect.op in ("<<", "<<-"):
                body = expander.single(redirect.body) if redirect.body is not None else Arg("")
                stdin = Out(body.text, body.tags) if redirect.fd in ("", "0") else stdin
                continue
            target = expander.single(redirect.target)
            if redirect.op == "<<<":
                stdin = Out(target.text + "\n", target.tags)
            elif redirect.op in _WRITES or (
                redirect.op == ">&" and not target.text.rstrip("-").isdigit() and target.text != "-"
            ):
                output = redirect.fd in ("", "1")
                if output and target.text not in ("/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/tty"):
                    sinks.append(Sink(target, redirect.op.endswith(">>")))
                appends = redirect.op.endswith(">>") and output
                self.engine.write(target, state, None if appends else NOTHING if output else ANYTHING)
            if redirect.op in _READS:
                content = NOTHING if target.text == "/dev/null" else self.engine.read(target, state)
                stdin = content if redirect.fd in ("", "0") else stdin
            elif redirect.op == "<&" and not target.text.isdigit():
                stdin = ANYTHING
            elif redirect.op == "<&" and target.text != "0":
                stdin = Out(None, frozenset({"descriptor"}))
        return stdin, sinks

    def _sink(self, out: Out, sinks: Sequence[Sink], state: State) -> Out:
        for sink in sinks:
            self.engine.remember(sink.target, state, out, append=sink.append)
        return NOTHING if sinks else out

    # -- substitutions -----------------------------------------------------------------------------

    def substitution(self, script: Script, state: State) -> Out:
        """Run ``$(...)`` and return its output."""
        inner = state.fork()
        out = self.script(script, inner, ANYTHING)
        state.files.update(inner.files)
        return out

    def process_substitution(self, node: ProcessSub, state: State) -> str:
        """Run ``<(...)`` or ``>(...)`` and return the path that stands for it."""
        path = f"/dev/fd/{63 + len(state.files)}"
        inner = state.fork()
        out = self.script(node.script, inner, ANYTHING)
        state.files.update(inner.files)
        state.files[path] = (out.tagged("procsub"),)
        return path


def _joined(outs: Iterable[Out]) -> Out:
    text: str | None = ""
    tags: frozenset[str] = NO_TAGS
    for out in outs:
        text = None if text is None or out.text is None else text + out.text
        tags |= out.tags
    return Out(text, tags)


def _is_endless(node: Compound) -> bool:
    if not node.sequence or len(node.sequence[0].items) != 1:
        return not node.sequence
    items = node.sequence[0].items[0].items
    first = items[0]
    return len(items) == 1 and isinstance(first, Simple) and [w.literal() for w in first.words] in (["true"], [":"])


def _appended(old: object, value: object) -> Arg | tuple[Arg, ...]:
    if isinstance(value, tuple):
        return (
            (*old, *value)
            if isinstance(old, tuple)
            else ((old, *value) if isinstance(old, Arg) and old.text else value)
        )
    assert isinstance(value, Arg)
    if isinstance(old, tuple):
        return (*old, value)
    assert isinstance(old, Arg)
    return Arg(old.text + value.text, old.tags | value.tags)


def names_in_arith(word: Word) -> set[str]:
    """Return the identifiers that stand literally in an arithmetic expression."""
    from .grammar.nodes import Lit

    return {name for part in word.parts if isinstance(part, Lit) for name in re.findall(r"[A-Za-z_]\w*", part.text)}
