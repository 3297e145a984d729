"""Python source given to ``python -c`` or a here-document, judged on its syntax tree.

Names are resolved to dotted module paths through imports, aliases and ``__import__``; a *reference* to something
dangerous counts, so handing ``os.system`` to a variable does not help. Commands that are constants are judged as commands.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING

from ..paths import Kind, read_kind, write_kind
from ..values import UNKNOWN, Arg, Out

if TYPE_CHECKING:
    from ..invocation import Invocation

_RUNS_TEXT = frozenset(
    {
        "os.system",
        "os.popen",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "commands.getoutput",
        "asyncio.create_subprocess_shell",
        "posix.system",
        "pty.spawn",
        "platform.popen",
    }
)
_RUNS_ARGV = frozenset(
    {
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.Popen",
        "asyncio.create_subprocess_exec",
    }
)
_EVALUATES = frozenset(
    {
        "exec",
        "eval",
        "compile",
        "builtins.exec",
        "builtins.eval",
        "builtins.compile",
        "runpy.run_path",
        "code.interact",
        "code.InteractiveConsole",
        "code.InteractiveInterpreter",
        "execfile",
    }
)
_DENIED = {
    "shutil.rmtree": "removes a tree",
    "os.removedirs": "removes directories",
    "pty.spawn": "starts a program",
    "os.exec*": "replaces itself with a program",
    "os.spawn*": "starts a program",
    "os.posix_spawn*": "starts a program",
    "os.fork": "copies itself",
    "os.forkpty": "copies itself",
    "os.kill": "ends processes",
    "os.killpg": "ends processes",
    "os.startfile": "starts a program",
    "os.chroot": "changes the root directory",
    "os.setuid": "changes its user",
    "os.chown": "changes owners",
    "os.lchown": "changes owners",
    "os.truncate": "empties files",
    "os.ftruncate": "empties files",
    "os.mkfifo": "makes special files",
    "os.mknod": "makes special files",
    "os.dup2": "redirects itself",
    "os.environ.copy": "reads the environment",
    "os.symlink": "makes links",
    "os.link": "makes links",
    "posix.*": "reaches the operating system",
    "nt.*": "reaches the operating system",
    "_posixsubprocess.*": "starts programs",
    "multiprocessing.*": "",
    "pickle.loads": "runs what is pickled",
    "marshal.loads": "loads code",
    "dill.*": "runs what is pickled",
    "yaml.unsafe_load": "runs what is written in the document",
    "ctypes.*": "calls native code",
    "cffi.*": "calls native code",
    "socket.socket": "opens a connection",
    "socket.create_connection": "opens a connection",
    "socket.create_server": "opens a connection",
    "socket.gethostbyname*": "",
    "smtplib.*": "sends mail",
    "ftplib.*": "moves files",
    "telnetlib.*": "opens a connection",
    "paramiko.*": "runs commands on another machine",
    "fabric.*": "runs commands on another machine",
    "asyncssh.*": "runs commands on another machine",
    "pexpect.*": "runs programs",
    "sh.*": "runs programs",
    "plumbum.*": "runs programs",
    "webbrowser.*": "starts programs",
    "antigravity": "starts programs",
    "importlib.util.spec_from_file_location": "",
    "importlib.machinery.*": "",
    "boto3.*": "reaches a cloud account",
    "keyring.*": "reads secrets",
    "browser_cookie3.*": "reads secrets",
    "pynput.*": "records input",
    "winreg.*": "changes the registry",
    "http.server.*": "",
    "xmlrpc.client.*": "opens a connection",
    "pip.*": "installs packages",
    "pip.main": "installs packages",
    "ensurepip.*": "installs packages",
    "timeit.*": "",
    "sys.settrace": "hooks into execution",
    "signal.pthread_kill": "ends processes",
    "gc.get_objects": "reaches into the interpreter",
    "inspect.stack": "",
    "django.core.management.call_command": "runs a management command",
    "distutils.spawn.*": "runs programs",
    "distutils.dir_util.remove_tree": "removes a tree",
    "send2trash.*": "removes files",
    "cgitb.*": "",
    "bdb.*": "hooks into execution",
    "pdb.*": "",
    "psutil.Process*": "",
}
_REMOVES = frozenset({"os.remove", "os.unlink", "os.rmdir"})
_URL_CALLS = re.compile(
    r"(?:urllib\.request\.(?:urlopen|Request|urlretrieve)|requests\.\w+|httpx\.\w+|urllib3\.\w+|aiohttp\.\w+|http\.client\.\w+|urllib2\.\w+)"
)
_SENDS = re.compile(r"\.(?:post|put|patch|delete)$")
_DANGEROUS_MODULES = re.compile(
    r"^(?:os|subprocess|shutil|builtins|__builtins__|posix|sys|importlib|ctypes|socket|pty|code|runpy|signal)$"
)
_DUNDERS = frozenset(
    {
        "__subclasses__",
        "__globals__",
        "__builtins__",
        "__code__",
        "__loader__",
        "__import__",
        "__reduce__",
        "__getattribute__",
        "__closure__",
        "f_globals",
        "f_builtins",
        "gi_frame",
        "tb_frame",
        "_getframe",
        "__mro__",
        "__base__",
        "__bases__",
    }
)
_DATABASE = re.compile(r"(?i)\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from\s+\w+\s*;?\s*$)")
MAX_CODE = 60_000


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
    tree = _parse(text)
    if tree is None:
        if UNKNOWN in text:
            inv.dynamic(f"runs {what} that is not known before it runs")
        else:
            inv.ask(f"runs {what} that could not be parsed")
        return
    _Visitor(inv, tree).judge(tree)


def _parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for candidate in (text, text.replace(UNKNOWN, "0")) if UNKNOWN in text else (text,):
            try:
                return ast.parse(candidate.lstrip("\ufeff"))
            except (SyntaxError, ValueError, MemoryError):
                continue
    return None


class _Visitor:
    """One walk over one module."""

    def __init__(self, inv: Invocation, tree: ast.Module) -> None:
        self.inv = inv
        self.names: dict[str, str] = {}
        self.constants: dict[str, object] = {}
        self.handled: set[int] = set()
        for node in ast.walk(tree):
            self._collect(node)

    # -- names -------------------------------------------------------------------------------------

    def _collect(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name == "*" and _DANGEROUS_MODULES.match(node.module or ""):
                    self.inv.ask(f"python: imports everything from {node.module}")
                self.names[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        elif isinstance(node, (ast.Assign, ast.NamedExpr, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._bind(target, node.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
                for one, other in zip(target.elts, value.elts, strict=False):
                    self._bind(one, other)
            return
        dotted = self.dotted(value)
        if dotted and (
            dotted.split(".")[0] in self.names.values()
            or dotted in _EVALUATES
            or _DANGEROUS_MODULES.match(dotted.split(".")[0])
        ):
            self.names[target.id] = dotted
        constant = self.constant(value)
        if constant is not None:
            self.constants[target.id] = constant if self.constants.get(target.id, constant) == constant else None

    def dotted(self, node: ast.AST) -> str:
        """Return the dotted path an expression stands for, or an empty string."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else ""
        if isinstance(node, ast.Call):
            return self._dotted_call(node)
        if isinstance(node, ast.Subscript):
            base = self.dotted(node.value)
            key = self.constant(node.slice)
            if base in ("sys.modules", "__builtins__", "builtins.__dict__", "__builtins__.__dict__") or base.endswith(
                ".__dict__"
            ):
                prefix = "" if base == "sys.modules" else base.removesuffix(".__dict__") + "."
                return f"{prefix}{key}" if isinstance(key, str) else base
        return ""

    def _dotted_call(self, node: ast.Call) -> str:
        function = self.dotted(node.func)
        first = self.constant(node.args[0]) if node.args else None
        if function in ("__import__", "importlib.import_module", "builtins.__import__") and isinstance(first, str):
            return first
        if function in ("getattr", "builtins.getattr") and len(node.args) > 1:
            name = self.constant(node.args[1])
            base = self.dotted(node.args[0])
            return f"{base}.{name}" if base and isinstance(name, str) else ""
        if function in ("vars", "globals", "locals"):
            return (self.dotted(node.args[0]) if node.args else "") + ".__dict__"
        return ""

    def constant(self, node: ast.AST) -> object:
        """Return the value of a constant expression, or None."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self.constants.get(node.id)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.constant(node.left), self.constant(node.right)
            return left + right if isinstance(left, str) and isinstance(right, str) else None
        if isinstance(node, ast.JoinedStr):
            pieces = [self.constant(v.value if isinstance(v, ast.FormattedValue) else v) for v in node.values]
            return "".join(p if isinstance(p, str) else UNKNOWN for p in pieces)
        if isinstance(node, (ast.List, ast.Tuple)):
            items = [self.constant(item) for item in node.elts]
            return [item if isinstance(item, str) else UNKNOWN for item in items]
        if isinstance(node, ast.Call):
            return self._constant_call(node)
        return None

    def _constant_call(self, node: ast.Call) -> object:
        function = self.dotted(node.func)
        first = self.constant(node.args[0]) if node.args else None
        if function in ("os.path.expanduser", "pathlib.Path", "Path", "str", "os.path.abspath") and isinstance(
            first, str
        ):
            return first
        if function == "os.path.join":
            parts = [self.constant(arg) for arg in node.args]
            return "/".join(p if isinstance(p, str) else UNKNOWN for p in parts)
        if function in ("pathlib.Path.home", "Path.home"):
            return "~"
        if isinstance(node.func, ast.Attribute) and node.func.attr == "split" and not node.args:
            text = self.constant(node.func.value)
            return text.split() if isinstance(text, str) else None
        return None

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
        if function in (
            "print",
            "pprint.pprint",
            "json.dumps",
            "json.dump",
            "str",
            "dict",
            "repr",
            "list",
            "sorted",
        ) and any(self._environment(arg) for arg in node.args):
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
        if function in _RUNS_TEXT or function in _RUNS_ARGV:
            self.handled.update(id(n) for n in ast.walk(node.func))
            self._runs(node, function)
        elif function in _EVALUATES:
            self.handled.update(id(n) for n in ast.walk(node.func))
            self._evaluates(node, function)
        elif function in _REMOVES:
            self.handled.update(id(n) for n in ast.walk(node.func))
            self._removes(node)
        elif function in ("__import__", "importlib.import_module") and not self.dotted(node):
            self.inv.ask("python: imports a module whose name is not known")
        elif (
            function in ("getattr", "setattr", "vars")
            and node.args
            and not self.dotted(node)
            and _DANGEROUS_MODULES.match(self.dotted(node.args[0]) or "-")
        ):
            self.inv.ask("python: reaches into a module by a name that is not known")
        elif function in ("globals", "locals", "vars") and function != "vars":
            pass
        elif _URL_CALLS.fullmatch(function):
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

    def _environment(self, node: ast.AST) -> bool:
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
        return not any(name in _EVALUATES and "compile" not in name for name in self.names.values())

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
            _SENDS.search(function)
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
        elif func.attr in ("execute", "executescript", "executemany") and node.args:
            statement = self.constant(node.args[0])
            if isinstance(statement, str):
                from .sql import judge_sql

                judge_sql(self.inv, Arg(statement))

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
            if (isinstance(mode, str) and set(mode) & set("wax+")) or (function == "os.open" and len(node.args) > 1):
                if isinstance(names[0] if names else None, str):
                    self._write(str(names[0]))
        else:
            for name in names[:2]:
                if isinstance(name, str):
                    self._write(name)
            if function == "os.chmod" and len(node.args) > 1 and isinstance(names[1], int) and (names[1] & 0o6002):
                self.inv.ask("python: makes files writable by everybody or set-user-id")

    def _write(self, path: str, content: object = None) -> None:
        self.inv.write(Arg(path), None)
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
        if isinstance(node, ast.Attribute) and node.attr in _DUNDERS:
            self.inv.ask(f"python: reaches into the interpreter through {node.attr}")
            return
        self._dangerous(self.dotted(node), reference=True)

    def _dangerous(self, dotted: str, *, reference: bool) -> None:
        dotted = dotted.removeprefix("__builtins__.")
        if not dotted:
            return
        if (
            dotted in _RUNS_TEXT
            or dotted in _RUNS_ARGV
            or dotted in _REMOVES
            or (dotted in _EVALUATES and dotted not in ("compile",))
        ):
            if (
                dotted in self.names.values()
                and "." in dotted
                and any(True for name, target in self.names.items() if target == dotted)
            ):
                return  # imported by name: the calls are judged
            self.inv.ask(f"python: uses {dotted}")
            return
        for pattern, reason in _DENIED.items():
            matches = dotted == pattern or (pattern.endswith("*") and dotted.startswith(pattern.rstrip("*")))
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
