"""The judge: findings, budgets, files, and the dispatch of one resolved command to the rule that knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from . import paths
from .arming import arming_problem
from .expand import Expander
from .generic import judge_generic
from .grammar.nodes import Function, ProcessSub, Script, ShellSyntaxError
from .grammar.parser import parse
from .implicit import implicit_files
from .invocation import Invocation
from .paths import Kind
from .patterns import later
from .registry import canonical_name, handler_for
from .state import State
from .unknown import judge_unknown
from .values import ANYTHING, NOTHING, UNKNOWN, Arg, Finding, Out, Severity, Value, joined
from .walk import Walker

if TYPE_CHECKING:
    from .rules import Rules

T = TypeVar("T")
_CODE_IN_SUBSCRIPT = later(r"[A-Za-z_]\w*\[[^\]]*(?:\$\(|`)")
_READ_SEVERITY = {Kind.SECRET: Severity.DENY, Kind.MAYBE_SECRET: Severity.ASK, Kind.NETWORK: Severity.ASK}
_WRITE_SEVERITY = {Kind.PIPELINE: Severity.ASK}
_ONLY_HELP = frozenset("kubectl docker cargo npm pnpm yarn go gh aws terraform helm pip uv poetry gcloud az".split())
_LOADER = later(r"ld-(?:linux|musl)[\w.-]*\.so[\w.]*|ld\.so(?:\.\d)?")
_PROC = later(r"/(?:proc|dev)/|/(?:var/)?tmp/[^/]+$")
_REMOVER = later(r"(?i)uninstall|(?:^|[-_.])(?:nuke|wipe|destroy|delete|drop|purge|erase)(?:$|[-_.])")
_STANDARD_NAME = later(r"[\x21-\x7e]+")


class Engine:
    """Judges one command text; findings collect in ``findings``."""

    def __init__(self, rules: Rules, *, max_depth: int = 40, max_commands: int = 4000) -> None:
        self.rules = rules
        self.max_depth = max_depth
        self.budget = max_commands
        self.depth = 0
        self.findings: list[Finding] = []
        self._owners: list[list[Finding]] = [self.findings]
        self.walker = Walker(self)
        self.called: set[str] = set()
        self.defined: dict[str, tuple[Function, State]] = {}
        self.lenient = False
        self.judging: set[tuple[str, str]] = set()  # files being judged: a test that starts its own tool

    # -- findings ----------------------------------------------------------------------------------

    def ask(self, reason: str) -> None:
        """Record a reason to ask."""
        self._say(Severity.ASK, reason)

    def deny(self, reason: str) -> None:
        """Record a reason to deny."""
        self._say(Severity.DENY, reason)

    def dynamic(self, reason: str) -> None:
        """Record that something cannot be resolved; bodies of functions nobody calls are forgiven."""
        if not self.lenient:
            self.ask(reason)

    def spend(self, words: int = 1) -> bool:
        """Count one command, a long one as several; False when the budget is used up (which asks)."""
        before, self.budget = self.budget, self.budget - 1 - words // 50
        if before >= 0 > self.budget:
            self._owners[0].append(Finding(Severity.ASK, "too many commands to follow"))
        return self.budget >= 0

    # -- entry points ------------------------------------------------------------------------------

    def run(self, text: str) -> None:
        """Judge the whole text, functions nobody called included."""
        self.text(text, State())
        self.lenient = True
        for name, (node, state) in list(self.defined.items()):
            if name not in self.called:
                inner = state.fork()
                inner.positional = None
                inner.calls = (*inner.calls, name)
                self.walker.node(node.body, inner, ANYTHING)

    def text(self, text: str, state: State, stdin: Out = ANYTHING, *, words_only: bool = False) -> Out:
        """Judge ``text`` as a shell script in ``state``; what cannot be parsed asks."""
        if self.depth > 20:
            self.ask("shells nested too deeply")
            return ANYTHING
        try:
            script = parse(": " + text if words_only else text, max_depth=self.max_depth)
        except ShellSyntaxError as error:
            self.ask(f"the command could not be parsed: {error}")
            return ANYTHING
        return self._deeper(lambda: self.walker.script(script, state, stdin))

    def substitution(self, script: Script, state: State) -> Out:
        """Judge ``$(...)``."""
        return self._deeper(lambda: self.walker.substitution(script, state))

    def process_substitution(self, node: ProcessSub, state: State) -> str:
        """Judge ``<(...)``."""
        return self._deeper(lambda: self.walker.process_substitution(node, state))

    def _deeper(self, body: Callable[[], T]) -> T:
        self.depth += 1
        self._owners.append(self.findings)
        try:
            return body()
        finally:
            self._owners.pop()
            self.depth -= 1

    # -- functions ---------------------------------------------------------------------------------

    def define(self, node: Function, state: State) -> None:
        """Remember a function."""
        state.functions[node.name] = (node,)
        self.defined[node.name] = (node, state.fork())

    def _call(self, name: str, args: tuple[Arg, ...], state: State, stdin: Out) -> Out:
        self.called.add(name)
        if name in state.calls or self.depth > 20:
            if state.in_background:
                self.deny(f"function {name} starts copies of itself (fork bomb)")
            return ANYTHING
        outs: list[Out] = []
        ends: list[State] = []
        for node in state.functions[name]:
            inner = state.fork()
            inner.positional, inner.calls = args, (*state.calls, name)
            outs.append(self._deeper(partial(self.walker.node, node.body, inner, stdin)))
            inner.positional, inner.calls = state.positional, state.calls
            ends.append(inner)
        state.become(ends)
        return outs[0] if len(outs) == 1 else Out(None, frozenset().union(*(out.tags for out in outs)))

    # -- commands ----------------------------------------------------------------------------------

    def command(self, argv: list[Arg], state: State, stdin: Out = ANYTHING) -> Out:
        """Judge one resolved command and return what it prints."""
        if not argv or not self.spend(len(argv)):
            return ANYTHING
        verdict = self.rules.match(argv)
        if verdict == "deny":
            self.deny("your rules deny this command: " + _shown(argv))
            return ANYTHING
        if verdict == "ask":
            self.ask("your rules ask for this command: " + _shown(argv))
        own: list[Finding] = []
        self._owners.append(own)
        self.depth += 1
        try:
            return self._command(argv, state, stdin)
        finally:
            self.depth -= 1
            self._owners.pop()
            if verdict != "allow":
                self.findings.extend(own)

    def _command(self, argv: list[Arg], state: State, stdin: Out) -> Out:
        if self.depth > 60:
            self.ask("commands nested too deeply")
            return ANYTHING
        name = self._name(argv[0])
        if name is None:
            for arg in argv[1:]:
                self.read(arg, state)
            return ANYTHING
        if text_of_alias := state.aliases.get(name):
            import shlex  # few commands have aliases

            inner = state.fork()
            inner.aliases = {key: value for key, value in state.aliases.items() if key != name}
            words = " ".join(shlex.quote(arg.text.replace(UNKNOWN, "_")) for arg in argv[1:])
            return self.text(f"{text_of_alias} {words}", inner, stdin)
        if _LOADER.fullmatch(name) and len(argv) > 1:
            return self.command(argv[1:], state, stdin)
        if _PROC.match(argv[0].text) or _REMOVER.search(name):
            self.ask("runs " + argv[0].text.replace(UNKNOWN, "…"))
        if name in state.functions and "/" not in argv[0].text:
            return self._call(name, tuple(argv[1:]), state, stdin)
        name = canonical_name(name)
        inv = Invocation(self, state, name, argv[0], tuple(argv[1:]), stdin)
        written = inv.written_program()
        if written is not None:
            return written
        if inv.texts in (["--help"], ["--version"]) or (inv.texts[-1:] == ["--help"] and name in _ONLY_HELP):
            return ANYTHING
        judge_generic(inv)
        handler = handler_for(name)
        if handler is None or handler.reads:
            for arg in inv.args:
                self.read_argument(arg, state)
        if handler is None:
            judge_unknown(inv)
            implicit_files(inv)
            return Out(None, frozenset({"hook"})) if "completion" in inv.texts[:2] else stdin.derived()
        result = handler.judge(inv)
        implicit_files(inv)
        if "completion" in inv.texts[:2]:
            return Out(None, frozenset({"hook"}))
        return ANYTHING if result is None else result

    def _name(self, arg: Arg) -> str | None:
        """Return the program's name; None (and a finding) when it is not certain."""
        text = arg.text
        base = text.rsplit("/", 1)[-1].lstrip("=")  # zsh: =name is the path of name
        if not base and text:
            self.dynamic("the program's name is empty or a directory")
        elif text.startswith("-") and len(text) > 1:
            self.dynamic("the program's name is an option: what stood before it is empty")
        elif arg.glob and text not in ("[", "[["):
            self.dynamic("the program's name is a pattern: " + text)
        elif not text:
            if arg.tags:
                self._unresolved()
        elif UNKNOWN in base or (arg.split and not all(tag.startswith("env:") for tag in arg.tags)):
            self._unresolved()
        elif not _STANDARD_NAME.fullmatch(base):
            self.ask("the program's name has unusual characters: " + ascii(base))
        else:
            return base
        return None

    def _unresolved(self) -> None:
        self.dynamic("the program that runs is not known before it runs")

    # -- files -------------------------------------------------------------------------------------

    def places(self, arg: Arg, state: State) -> Iterable[str]:
        """Return the normalized paths ``arg`` may mean."""
        return [paths.normalize(arg.text[:4096], cwd) for cwd in state.cwds]

    def read(self, arg: Arg, state: State) -> Out:
        """Judge reading a path; return its content when the script wrote it."""
        content: list[Out] = []
        for tag in arg.tags:
            if tag.startswith("path:"):
                self.ask(f"reads {tag[5:]}: {Kind.MAYBE_SECRET.value}")
        for place in self.places(arg, state):
            kind = paths.read_kind(place)
            if kind is None and arg.text.startswith(UNKNOWN + "/"):
                rest = paths.read_kind(paths.normalize(arg.text[len(UNKNOWN) :]))  # the unknown piece may be empty
                kind = rest if rest is Kind.SECRET else None
            if kind is not None:
                self._say(_READ_SEVERITY[kind], f"reads {_path(place)}: {kind.value}")
            content.extend(state.files.get(place, ()))
        if len(content) == 1:
            return content[0]
        return Out(None, frozenset({"file", "from:" + arg.text[-80:]}).union(*(out.tags for out in content)))

    def read_argument(self, arg: Arg, state: State) -> None:
        """Judge an argument of a program without a rule: it may be a path, ``--option=path`` or ``@path``."""
        text = arg.text
        if len(text) > 4096 or "\n" in text:
            return
        self.read(arg, state)
        for mark in ("=", "@", ":"):
            if mark in text:
                self.read(arg.with_text(text.split(mark, 1)[1]), state)
        if text.startswith("-") and len(text) > 2 and text[2] in "/~.":
            self.read(arg.with_text(text[2:]), state)

    def write(self, arg: Arg, state: State, content: Out | None = None, verb: str = "writes") -> None:
        """Judge writing a path and remember what is now in it."""
        if arg.tags & {"env:GITHUB_ENV", "env:GITHUB_PATH", "env:BASH_ENV", "env:ENV"}:
            self.ask("changes the environment of later steps")
        for place in self.places(arg, state):
            kind = paths.write_kind(place)
            if kind is not None:
                self._say(_WRITE_SEVERITY.get(kind, Severity.DENY), f"{verb} {_path(place)}: {kind.value}")
        if content is not None:
            self.remember(arg, state, content)

    def remember(self, arg: Arg, state: State, content: Out, *, append: bool = False) -> None:
        """Remember what the script put into a file, so that running it is judged."""
        if "endless" in content.tags:
            self.ask("writes without an end")
        if arg.known:
            for place in self.places(arg, state):
                before = state.files.get(place, ()) if append else ()
                state.files[place] = tuple(joined(out, content) for out in before) or (content.tagged("written"),)

    def _say(self, severity: Severity, reason: str) -> None:
        self._owners[-1].append(Finding(severity, reason.replace(UNKNOWN, "…")))

    # -- odds and ends -----------------------------------------------------------------------------

    def arm(self, name: str, value: Value, state: State) -> None:
        """Judge setting a variable that later programs obey."""
        for item in value if isinstance(value, tuple) else (value,):
            problem = arming_problem(name, item, self, state)
            if problem:
                self.ask(problem)

    def test_words(self, args: Iterable[Arg], state: State) -> None:
        """Judge the operands of ``test`` and ``[[``: subscripts in them are evaluated."""
        expander = Expander(self, state)
        numeric = False
        for arg in args:
            if _CODE_IN_SUBSCRIPT.search(arg.text):
                self.deny("a subscript inside a test runs a command")
            numeric = numeric or arg.text in ("-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R")
        if numeric:
            for arg in args:
                if arg.text.isidentifier():
                    expander.arith_text(arg.text)


def _shown(argv: list[Arg]) -> str:
    return " ".join(arg.text.replace(UNKNOWN, "…") for arg in argv)[:200]


def _path(place: str) -> str:
    return place.replace(UNKNOWN, "…")[:200]


__all__ = ["NOTHING", "Engine"]
