"""Python source given to ``python -c`` or a here-document, judged on its syntax tree.

Names are resolved to dotted module paths through imports, aliases and ``__import__``; a *reference* to something
dangerous counts, so handing ``os.system`` to a variable does not help. Commands that are constants are judged as commands.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from ..paths import Kind, is_precious, read_kind, write_kind
from ..values import UNKNOWN, Arg, Out
from .python_names import Names, parse_python
from .python_tables import (
    CONNECTS,
    DANGEROUS_MODULES,
    DENIED,
    DESTROYS,
    DUNDERS,
    EVALUATES,
    MANAGES,
    MAX_CODE,
    MOVES,
    REMOVES,
    RUNS_ARGV,
    RUNS_TEXT,
    SENDS,
    URL_CALLS,
)

if TYPE_CHECKING:
    from ..invocation import Invocation


def judge_python(inv: Invocation, code: Arg, what: str) -> None:
    """Judge Python source.

    Args:
        inv: the interpreter's invocation.
        code: the source; unresolved pieces are accepted inside string constants only.
        what: how to call it.
    """
    text = code.text
    if len(text) > MAX_CODE:
        inv.ask(f"runs {what} too long to judge")
        return
    if text.strip() == UNKNOWN or (not code.known and code.tags & {"net", "descriptor"}):
        inv.dynamic(f"runs {what} that is not known before it runs")
        return
    tree = parse_python(text)
    if tree is None:
        if UNKNOWN in text:
            inv.dynamic(f"runs {what} that is not known before it runs")
        else:
            inv.ask(f"runs {what} that could not be parsed")
        return
    _Visitor(inv, tree).judge(tree)


class _Visitor(Names):
    """One walk over one module."""

    # -- judgement ---------------------------------------------------------------------------------

    def judge(self, tree: ast.Module) -> None:
        """Look at every node once."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._call(node)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Attribute, ast.Name)) and id(node) not in self.handled:
                self._reference(node)
            elif (
                isinstance(node, ast.Subscript)
                and self.dotted(node.value) == "os.environ"
                and isinstance(node.ctx, ast.Load)
            ):
                self._variable(node.slice)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._string(node.value)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._dangerous(f"{node.module or ''}.{alias.name}", reference=True)

    def _call(self, node: ast.Call) -> None:
        function = self.dotted(node.func).removeprefix("__builtins__.").removeprefix("builtins.")
        if any(keyword.arg == "trust_remote_code" for keyword in node.keywords):
            self.inv.ask("python: runs code that comes with downloaded data")
        if function in ("print", "pprint.pprint", "json.dumps", "json.dump", "sys.stdout.write") and any(
            self._prints_environment(arg) for arg in node.args
        ):
            self.inv.ask("python: prints the environment")
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("items", "values")
            and self.dotted(node.func.value) == "os.environ"
        ):
            self.inv.ask("python: prints the environment")
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "request"
            and node.args
            and self.constant(node.args[0]) in ("POST", "PUT", "PATCH", "DELETE")
        ):
            self.inv.ask("python: sends data to another machine")
        if function.endswith("dotenv_values"):
            self.inv.ask("python: reads secrets from .env")
        if function in RUNS_TEXT or function in RUNS_ARGV:
            self.handled.update(id(n) for n in ast.walk(node.func))
            self._runs(node, function)
        elif function in EVALUATES:
            self.handled.update(id(n) for n in ast.walk(node.func))
            self._evaluates(node, function)
        elif function in REMOVES:
            self.handled.update(id(n) for n in ast.walk(node.func))
            self._removes(node)
        elif function in ("__import__", "importlib.import_module") and not self.dotted(node):
            self.inv.ask("python: imports a module whose name is not known")
        elif (
            function in ("getattr", "setattr", "vars")
            and node.args
            and not self.dotted(node)
            and DANGEROUS_MODULES.match(self.dotted(node.args[0]) or "-")
        ):
            self.inv.ask("python: reaches into a module by a name that is not known")
        elif function in ("globals", "locals", "vars") and function != "vars":
            pass
        elif URL_CALLS.fullmatch(function):
            self._request(node, function)
        elif function in ("os.getenv", "os.environ.get"):
            self._variable(node.args[0] if node.args else None)
        elif isinstance(node.func, ast.Attribute):
            self._method(node, node.func)
        if function in (
            "open",
            "io.open",
            "os.open",
            "codecs.open",
            "os.rename",
            "os.replace",
            "shutil.move",
            "shutil.copy",
            "shutil.copy2",
            "shutil.copyfile",
            "shutil.copytree",
            "os.makedirs",
            "os.mkdir",
            "os.chmod",
        ):
            self._files(node, function)

    def _prints_environment(self, node: ast.AST) -> bool:
        """The whole of ``os.environ``, perhaps converted; one variable of it is something else."""
        if isinstance(node, ast.Call) and self.dotted(node.func) in ("dict", "str", "repr", "list", "sorted"):
            return any(self._prints_environment(arg) for arg in node.args)
        return isinstance(node, (ast.Attribute, ast.Name)) and self.dotted(node) == "os.environ"

    def _runs(self, node: ast.Call, function: str) -> None:
        argument = self.constant(node.args[0]) if node.args else None
        if argument is None:
            argument = next(
                (self.constant(k.value) for k in node.keywords if k.arg in ("args", "command", "cmd")), None
            )
        if function == "asyncio.create_subprocess_exec":
            argument = [a if isinstance(a, str) else UNKNOWN for a in (self.constant(arg) for arg in node.args)]
        shell = any(k.arg == "shell" and self.constant(k.value) for k in node.keywords)
        if isinstance(argument, str) and argument and argument.strip() != UNKNOWN:
            if UNKNOWN in argument:
                self.inv.ask("python: runs a command that is not known before it runs")
            self.inv.script(argument.replace(UNKNOWN, "x"))
        elif isinstance(argument, list) and argument and argument[0] != UNKNOWN:
            words = [
                Arg(str(word), frozenset({"python"}) if UNKNOWN in str(word) else frozenset()) for word in argument
            ]
            if shell:
                self.inv.script(words[0])
            else:
                self.inv.run(words)
        else:
            self.inv.ask("python: runs a command that is not known before it runs")

    def _evaluates(self, node: ast.Call, function: str) -> None:
        text = self.constant(node.args[0]) if node.args else None
        if isinstance(text, str) and UNKNOWN not in text and function.endswith(("exec", "eval", "compile")):
            judge_python(self.inv, Arg(text), "code given to " + function)
        elif (
            function in ("compile", "builtins.compile")
            and len(node.args) > 1
            and self.constant(node.args[-1]) == "exec"
            and self._only_compiled(node)
        ):
            return
        else:
            self.inv.ask(f"python: {function} runs code that is not known before it runs")

    def _only_compiled(self, node: ast.Call) -> bool:
        return not any(name in EVALUATES and "compile" not in name for name in self.names.values())

    def _removes(self, node: ast.Call) -> None:
        target = self.constant(node.args[0]) if node.args else None
        if isinstance(target, str) and UNKNOWN not in target:
            from ..programs.files import judge_removal

            judge_removal(self.inv, (Arg(target),))
        else:
            self.inv.ask("python: removes files whose names are not known")

    def _request(self, node: ast.Call, function: str) -> None:
        from ..programs.net import _METADATA, is_local

        url = (
            self.constant(node.args[0])
            if node.args
            else next((self.constant(k.value) for k in node.keywords if k.arg == "url"), "")
        )
        text = url if isinstance(url, str) else UNKNOWN
        if _METADATA.search(text):
            self.inv.deny("python: reads the credentials of the machine's cloud identity")
        sends = (
            SENDS.search(function)
            or any(k.arg in ("data", "json", "files", "content") for k in node.keywords)
            or (function.endswith(("urlopen", "Request")) and len(node.args) > 1)
        )
        if sends and not is_local(text):
            self.inv.ask("python: sends data to another machine")
        if function.endswith("urlretrieve") and len(node.args) > 1:
            target = self.constant(node.args[1])
            self.inv.write(Arg(target if isinstance(target, str) else UNKNOWN))

    def _method(self, node: ast.Call, func: ast.Attribute) -> None:
        if func.attr == "write" and isinstance(func.value, ast.Call) and self.dotted(func.value.func).endswith("open"):
            path, content = (self.constant(a[0]) if a else None for a in (func.value.args, node.args))
            if isinstance(path, str):
                self._write(path, content)
            return
        if func.attr in ("unlink", "rmdir", "rmtree", "removedirs") and not self.dotted(func).startswith(
            ("os.", "shutil.")
        ):
            target = self.constant(func.value)
            if isinstance(target, str) and UNKNOWN not in target and func.attr != "rmtree":
                from ..programs.files import judge_removal

                judge_removal(self.inv, (Arg(target),))
            else:
                self.inv.ask("python: removes files whose names are not known")
        elif (
            func.attr
            in ("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "rename", "replace", "chmod")
            and isinstance(self.constant(func.value), str)
            and self._is_path(func.value)
        ):
            content = self.constant(node.args[0]) if node.args and func.attr == "write_text" else None
            self._write(str(self.constant(func.value)), content)
        elif func.attr in (
            "sendall",
            "sendto",
            "connect",
            "system",
            "popen",
            "exec_command",
            "spawn",
        ) and not self.dotted(func).startswith(("sqlite3.", "psycopg", "duckdb.", "sqlalchemy", "logging")):
            if func.attr not in ("connect",) or (node.args and isinstance(node.args[0], ast.Tuple)):
                self.inv.ask(f"python: calls {func.attr}")
        elif (func.attr == "delete" and not node.args) or func.attr in (
            "drop_all",
            "drop_database",
            "drop_collection",
            "drop_table",
            "flushall",
            "flushdb",
            "delete_many",
        ):
            self.inv.ask(f"python: calls {func.attr}")
        elif self._manages() and DESTROYS.fullmatch(func.attr):
            self.inv.ask(f"python: calls {func.attr} of a library that manages something outside")
        elif isinstance(func.value, ast.Attribute) and func.value.attr == "git" and self._manages():
            words = [self.constant(arg) for arg in node.args]
            self.inv.run([Arg("git"), Arg(func.attr.replace("_", "-")), *(Arg(w) for w in words if isinstance(w, str))])
        elif func.attr in ("extractall", "unpack_archive"):
            self._unpacks(node)
        elif func.attr in ("execute", "executescript", "executemany") and node.args:
            statement = self.constant(node.args[0])
            if isinstance(statement, str):
                from .sql import judge_sql

                judge_sql(self.inv, Arg(statement))

    def _unpacks(self, node: ast.Call) -> None:
        for given in (*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "path")):
            place = self.constant(given)
            if isinstance(place, str):
                self._write(place)

    def _manages(self) -> bool:
        return any(name.split(".")[0] in MANAGES for name in self.names.values())

    def _is_path(self, node: ast.AST) -> bool:
        while isinstance(node, ast.BinOp):
            node = node.left
        if isinstance(node, ast.Name):
            return True
        return isinstance(node, ast.Call) and self.dotted(node.func).endswith(("Path", "Path.home"))

    def _files(self, node: ast.Call, function: str) -> None:
        names = [self.constant(arg) for arg in node.args]
        mode = next(
            (self.constant(k.value) for k in node.keywords if k.arg == "mode"), names[1] if len(names) > 1 else "r"
        )
        if function.endswith("open"):
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (function == "os.open" and len(names) > 1)
            if writes and names and isinstance(names[0], str):
                self._write(names[0])
        elif function in MOVES and len(names) > 1 and all(isinstance(name, str) for name in names[:2]):
            self.inv.run([Arg(word) for word in (*MOVES[function], str(names[0]), str(names[1]))])
        else:
            for name in names[:2]:
                if isinstance(name, str):
                    self._write(name)
            if function == "os.chmod" and len(node.args) > 1 and isinstance(names[1], int) and (names[1] & 0o6002):
                self.inv.ask("python: makes files writable by everybody or set-user-id")

    def _write(self, path: str, content: object = None) -> None:
        self.inv.write(Arg(path), None)
        if content == "" and any(is_precious(place) for place in self.inv.places(Arg(path))):
            self.inv.ask("python: empties " + path)
        if isinstance(content, str) and UNKNOWN not in content:
            self.inv.engine.remember(Arg(path), self.inv.state, Out(content))
        elif re.search(r"(?:\.(?:sh|bash)|/[^./]+|^[^./]+)$", path):
            self.inv.engine.remember(Arg(path), self.inv.state, Out(None))

    def _variable(self, key: ast.AST | None) -> None:
        from ..programs.builtins import is_secret_name

        name = self.constant(key) if key is not None else None
        if isinstance(name, str) and is_secret_name(name) and name not in self.inv.state.vars:
            self.inv.ask("python: reads the secret variable " + name)

    def _reference(self, node: ast.Attribute | ast.Name) -> None:
        if isinstance(node, ast.Attribute) and node.attr in DUNDERS:
            self.inv.ask(f"python: reaches into the interpreter through {node.attr}")
            return
        self._dangerous(self.dotted(node), reference=True)

    def _dangerous(self, dotted: str, *, reference: bool) -> None:
        dotted = dotted.removeprefix("__builtins__.")
        if not dotted:
            return
        if (
            dotted in RUNS_TEXT
            or dotted in RUNS_ARGV
            or dotted in REMOVES
            or (dotted in EVALUATES and dotted not in ("compile",))
        ):
            if (
                dotted in self.names.values()
                and "." in dotted
                and any(True for name, target in self.names.items() if target == dotted)
            ):
                return  # imported by name: the calls are judged
            self.inv.ask(f"python: uses {dotted}")
            return
        for pattern, reason in DENIED.items():
            matches = dotted == pattern or (pattern.endswith("*") and dotted.startswith(pattern.rstrip("*")))
            if matches and pattern == "socket.socket" and not self.attributes & CONNECTS:
                return  # only looks for a free port or a host name
            if matches and reason:
                self.inv.ask(f"python: {dotted} {reason}")
                return

    def _string(self, value: str) -> None:
        if len(value) > 300 or "\n" in value or not re.search(r"[/.~]", value):
            return
        for kind in {
            read_kind(self._place(value)),
            write_kind(self._place(value)) if value.startswith(("/", "~", ".")) else None,
        }:
            if kind in (Kind.SECRET, Kind.MAYBE_SECRET) and not value.startswith("*"):
                self.inv.ask(f"python: names {value}: {kind.value}") if kind is Kind.MAYBE_SECRET else self.inv.deny(
                    f"python: names {value}: {kind.value}"
                )
            elif kind in (Kind.PERSISTENCE, Kind.POLICY, Kind.DEVICE):
                self.inv.ask(f"python: names {value}: {kind.value}")

    def _place(self, value: str) -> str:
        from ..paths import normalize

        return normalize(value)
