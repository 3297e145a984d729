"""Commands, statements and addresses inside the arguments of any program.

``asdf exec rm ...``, ``bat --pager 'rm ...'``, ``cargo watch -s '...'``, ``snow sql -q 'drop table x'``: the words
tell, the program need not be known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .grammar.nodes import ShellSyntaxError
from .grammar.parser import parse
from .patterns import later
from .registry import canonical_name
from .values import ANYTHING, Arg

if TYPE_CHECKING:
    from .invocation import Invocation

MAX_DEPTH = 30
#: Subcommands and options behind which another command line stands.
_RUNS_REST = frozenset("exec x run --exec -- --args -c -s -x -e --command --cmd --run --shell --execute".split())
#: Programs that make a word behind those a command line; any other word may be data.
_INNER = frozenset(
    "rm sh bash zsh dash ksh fish sudo su env xargs dd chmod chown kill pkill killall curl wget mkfs nc ssh scp shred "
    "crontab systemctl reboot shutdown terraform aws kubectl psql mysql eval git find rsync python perl ruby "
    "node".split()
)
#: Programs with rules of their own for what follows, or whose values are code of another language.
_OPENED = frozenset(
    "kubectl docker-compose npm pnpm yarn bun npx uv poetry pdm hatch pipenv rye pixi env sudo command exec op xargs "
    "bash sh zsh dash ksh fish csh tcsh nu xonsh elvish python node ruby perl php lua nohup timeout time ssh tmux "
    "screen gcloud aws az systemd-run vim emacs ed ex psql mysql sqlite3 duckdb mongosh mongo redis-cli cqlsh pgrep "
    "pkill ps type which man less dpkg apt apt-get brew sort tar rpm ls set su runuser flock script watch hyperfine "
    "strace nmap make just".split()
)
#: Options whose value is a command line in every program that has them.
_COMMAND_OPTION = later(
    r"--?(?:[\w-]*-)?(?:pager|editor|viewer|browser|command|cmd|exec|exec-batch|preview|hook|launcher|rsh|"
    r"compress-program|decompress-program|init-command|difftool|opener|on-change|on-exit|on-error|notify)$"
)
_SQL = later(
    r"(?is)^\s*(?:begin\s*;\s*)?(?:drop\s+\w+\s+\S|truncate\s+\S|delete\s+from\s+\S|alter\s+\w+\s+\S+\s+drop|update\s+\S+\s+set\s|grant\s+\w+.*\sto\s)"
)
_DOCUMENTS = later(
    r"(?i)\bdetach\s+delete\b|\bmatch\s*\(.*\bdelete\b|\bdb\.\w*(?:\.\w+)?\.?(?:drop\w*|deleteMany|remove|truncate)\s*\(|"
    r"\._?(?:drop|truncate|dropDatabase|deleteMany|dropCollection)\s*\(|\bDB::|->(?:truncate|delete|forceDelete)\s*\("
)


def judge_embedded(inv: Invocation) -> None:
    """Judge what other programs and languages the arguments of ``inv`` hold."""
    _option_commands(inv)
    if inv.name in _OPENED:
        return
    if inv.engine.depth < MAX_DEPTH:
        _command_behind(inv)
    elif _RUNS_REST & set(inv.texts):
        inv.ask("commands nested too deeply")


def judge_statements(inv: Invocation) -> None:
    """Judge statements for a data base among the arguments of a program no rule knows."""
    for arg in inv.args:
        if _SQL.match(arg.text):
            inv.code("sql", arg)
        elif _DOCUMENTS.search(arg.text):
            inv.ask("removes data: " + arg.text[:60])


def _option_commands(inv: Invocation) -> None:
    for index, arg in enumerate(inv.args):
        name, equals, value = arg.text.partition("=")
        if not _COMMAND_OPTION.match(name):
            continue
        given = arg.with_text(value) if equals else (inv.args[index + 1] if index + 1 < len(inv.args) else None)
        if given is not None and given.known and " " in given.text and _is_shell(given.text):
            inv.script(given)


def _command_behind(inv: Invocation) -> None:
    for index, text in enumerate(inv.texts[:8]):
        if text not in _RUNS_REST:
            continue
        for start in range(index + 1, min(index + 4, len(inv.args))):
            arg = inv.args[start]
            if not arg.known:
                continue
            if _is_inner(arg.text) and start + 1 < len(inv.args):
                inv.run(inv.args[start:], ANYTHING)
                return
            words = arg.text.split()
            if start == index + 1 and len(words) > 1 and _is_inner(words[0]) and _is_shell(arg.text):
                inv.script(Arg(arg.text, arg.tags))
                return


def _is_inner(word: str) -> bool:
    return canonical_name(word.rsplit("/", 1)[-1]) in _INNER


def _is_shell(text: str) -> bool:
    try:
        parse(text)
    except ShellSyntaxError:
        return False
    return True
