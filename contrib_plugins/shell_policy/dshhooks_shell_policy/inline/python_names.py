"""Names and constants of a Python module: imports, aliases, ``getattr``, ``__import__``, joined strings."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

from ..values import UNKNOWN
from .python_tables import DANGEROUS_MODULES, EVALUATES

if TYPE_CHECKING:
    from ..invocation import Invocation


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of Python source, unresolved pieces taken for numbers where need be; None when there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for candidate in (text, text.replace(UNKNOWN, "0")) if UNKNOWN in text else (text,):
            try:
                return ast.parse(candidate.lstrip("\ufeff"))
            except (SyntaxError, ValueError, MemoryError):
                continue
    return None


class Names:
    """Resolves names of one module to dotted paths, and expressions to constants."""

    def __init__(self, inv: Invocation, tree: ast.Module) -> None:
        self.inv = inv
        self.names: dict[str, str] = {}
        self.constants: dict[str, object] = {}
        self.handled: set[int] = set()
        self.attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
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
                if alias.name == "*" and DANGEROUS_MODULES.match(node.module or ""):
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
            or dotted in EVALUATES
            or DANGEROUS_MODULES.match(dotted.split(".")[0])
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
        if isinstance(node, ast.Attribute) and self.dotted(node) == "sys.executable":
            return "python"
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
