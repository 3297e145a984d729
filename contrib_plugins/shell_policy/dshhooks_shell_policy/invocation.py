"""What a rule sees of one command, and what it can say about it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .options_parser import Parsed, parse_options
from .patterns import later
from .values import ANYTHING, UNKNOWN, Arg, Out

if TYPE_CHECKING:
    from .engine import Engine
    from .state import State

_SHEBANG = later(r"#!\s*(\S+)(?:[ \t]+(.*))?")
_BY_SUFFIX = {
    ".py": "python",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".ts": "node",
    ".pl": "perl",
    ".rb": "ruby",
    ".php": "php",
    ".lua": "lua",
    ".sh": "bash",
    ".bash": "bash",
    ".zsh": "bash",
}
_DATA_TAGS = frozenset({"num", "mktemp", "stdin", "glob", "file", "positional", "machine", "echo", "git", "filtered"})
#: Interpreters that may be asked to judge a text.
LANGUAGES = frozenset(_BY_SUFFIX.values()) | {
    "awk",
    "sed",
    "tclsh",
    "expect",
    "Rscript",
    "julia",
    "osascript",
    "make",
    "c",
    "go",
}


class Invocation:
    """One resolved command: its ``name``, ``args`` and ``stdin``, and the verbs a rule speaks in."""

    def __init__(
        self, engine: Engine, state: State, name: str, program: Arg, args: tuple[Arg, ...], stdin: Out
    ) -> None:
        self.engine = engine
        self.state = state
        self.name = name
        self.program = program
        self.args = args
        self.stdin = stdin

    # -- what it says ------------------------------------------------------------------------------

    def ask(self, reason: str) -> None:
        """Record a reason to ask, naming the program."""
        self.engine.ask(f"{self.name}: {reason}")

    def deny(self, reason: str) -> None:
        """Record a reason to deny, naming the program."""
        self.engine.deny(f"{self.name}: {reason}")

    def dynamic(self, reason: str) -> None:
        """Record that something cannot be resolved statically."""
        self.engine.dynamic(f"{self.name}: {reason}")

    # -- what it looks at --------------------------------------------------------------------------

    @property
    def texts(self) -> list[str]:
        """The arguments' characters."""
        return [arg.text for arg in self.args]

    def options(
        self,
        values: str = "",
        long_values: Iterable[str] | str = (),
        *,
        stop: bool = False,
        longs: Iterable[str] = (),
        single_dash: bool = False,
    ) -> Parsed:
        """Parse the arguments; see ``parse_options``. ``long_values`` may be one string, blanks between the names."""
        names = frozenset(long_values.split() if isinstance(long_values, str) else long_values)
        return parse_options(
            self.args, values, names, stop_at_operand=stop, longs=frozenset(longs), single_dash=single_dash
        )

    def with_args(self, args: Sequence[Arg]) -> Invocation:
        """Return the same invocation with other arguments."""
        return Invocation(self.engine, self.state, self.name, self.program, tuple(args), self.stdin)

    # -- what it runs ------------------------------------------------------------------------------

    def run(self, args: Sequence[Arg], stdin: Out | None = None) -> Out:
        """Judge ``args`` as a command this program starts (words are not split again)."""
        return self.engine.command(list(args), self.state, self.stdin if stdin is None else stdin)

    def script(
        self,
        text: Arg | str,
        stdin: Out | None = None,
        positional: Sequence[Arg] | None = None,
        *,
        what: str = "a script",
    ) -> Out:
        """Judge ``text`` as shell input; unresolved pieces in it ask unless they only stand for data.

        Args:
            text: the script.
            stdin: its standard input, this program's by default.
            positional: its ``$1`` and following.
            what: how to call it in the reason.
        """
        arg = Arg(text) if isinstance(text, str) else text
        if not arg.known and not self._placeholders_are_data(arg):
            self.dynamic(f"runs {what} that is not known before it runs")
            return ANYTHING
        inner = self.state.fork()
        inner.positional = None if positional is None else tuple(positional)
        inner.assign("UNKNOWN", Arg(UNKNOWN, arg.tags))
        out = self.engine.text(arg.text.replace(UNKNOWN, "${UNKNOWN}"), inner, self.stdin if stdin is None else stdin)
        self.state.files.update(inner.files)
        return out

    def _placeholders_are_data(self, arg: Arg) -> bool:
        """Unknown text in a script is code, unless it is a number, a file name or a variable of the environment.

        Where such a piece stands as a command it is asked about all the same: it is parsed as a variable.
        """
        return (
            bool(arg.tags)
            and "net" not in arg.tags
            and all(tag in _DATA_TAGS or tag.startswith(("env:", "var:", "from:")) for tag in arg.tags)
        )

    def code(self, language: str, text: Arg | str, *, what: str = "code") -> Out:
        """Judge ``text`` as source of ``language``."""
        from .inline import judge_code

        arg = Arg(text) if isinstance(text, str) else text
        if language in ("bash", "sh"):
            return self.script(arg, what=what)
        judge_code(self, language, arg, what)
        return ANYTHING

    # -- files -------------------------------------------------------------------------------------

    def read(self, arg: Arg) -> Out:
        """Judge reading a path; return its content when the script wrote it."""
        return self.engine.read(arg, self.state)

    def read_all(self, args: Iterable[Arg]) -> None:
        """Judge reading several paths."""
        for arg in args:
            self.engine.read_argument(arg, self.state)

    def write(self, arg: Arg, content: Out | None = ANYTHING, verb: str = "writes") -> None:
        """Judge writing a path and remember its content."""
        self.engine.write(arg, self.state, content, verb)

    def places(self, arg: Arg) -> list[str]:
        """Return the normalized paths an argument may mean."""
        return list(self.engine.places(arg, self.state))

    def written(self, arg: Arg, *, trees: bool = False) -> Out | None:
        """Return the content of a file this script wrote (with ``trees``: or fetched the tree of), else None."""
        outs = [out for place in self.places(arg) for out in self.state.files.get(place, ())]
        if trees and not outs:
            outs = [Out(None, frozenset({"net"})) for place in self.places(arg) if self._in_unpacked_tree(place)]
        if not outs:
            return None
        return outs[0] if len(outs) == 1 else Out(None, frozenset().union(*(out.tags for out in outs)))

    def _in_unpacked_tree(self, place: str) -> bool:
        relative = not place.startswith(("/", "~"))
        return any(
            (place.startswith(tree + "/") or (tree == "." and relative))
            and not (origin == "archive" and place.rsplit("/", 1)[-1] == "configure")  # the usual way to build
            for origin, tree in self.state.unpacked
        )

    def run_file(self, arg: Arg, language: str | None = None, *, trees: bool = False) -> Out | None:
        """Judge running a file this script wrote; None when it did not write it."""
        content = self.written(arg, trees=trees)
        if content is None:
            return None
        if "copy" in content.tags and content.text is not None:
            return self.run([Arg(content.text), *self.args])
        if content.text is None:
            origin = "was downloaded" if "net" in content.tags else "this command wrote, with content that is not known"
            if content.tags & {"compiled"}:
                return ANYTHING
            if "moved" in content.tags and "net" not in content.tags:
                origin = "was something else under another name"
            self.ask(f"runs a file that {origin}: {arg.text}")
            return ANYTHING
        text = content.text
        return self.code(
            language or _language_of(arg.text, text), Arg(text, content.tags), what=f"the file {arg.text} it wrote"
        )

    def written_program(self) -> Out | None:
        """Judge a program that is itself a file this script wrote."""
        if "/" in self.program.text:
            return self.run_file(self.program, trees=True)
        if not self.state.known_var("PATH"):
            return None
        shadows = [place for place in self.state.files if place.rsplit("/", 1)[-1] == self.program.text]
        return self.run_file(Arg(shadows[0])) if shadows else None


def _language_of(path: str, text: str) -> str:
    found = _SHEBANG.match(text)
    if found:
        from .registry import canonical_name

        words = [found.group(1), *(found.group(2) or "").split()]
        for word in words:
            base = canonical_name(posixpath.basename(word))
            if base not in ("env", "-S") and not base.startswith("-"):
                return {
                    "sh": "bash",
                    "dash": "bash",
                    "zsh": "bash",
                    "ksh": "bash",
                    "ash": "bash",
                    "busybox": "bash",
                }.get(base, base)
    return _BY_SUFFIX.get(posixpath.splitext(path)[1], "bash")
