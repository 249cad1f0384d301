# SPDX-License-Identifier: Apache-2.0
"""Edits a source file at syntax-tree positions, so that comments and layout are preserved."""

from __future__ import annotations

import ast
import builtins
import difflib
import itertools
import os
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from cyclewatch.source_lines import MOST_LINES

_STANDARD = sys.stdlib_module_names
_LARGEST = 1 << 20  # bytes of a source file
BYTE_ORDER_MARK = "\ufeff"  # not part of the first line

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Function: TypeAlias = Definition | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NAMED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_PLAIN_BASES = {"ABC", "Generic", "Protocol", "object"} | {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_Node = TypeVar("_Node", bound=ast.AST)


class NoDiff(Exception):  # noqa: N818 - not an error
    """Raised if no change is proposed; the message is a clause that gives the reason."""


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def read(path: str, unchanged_since: float | None) -> str:
    """The text of a source file. Raises NoDiff if changed after `unchanged_since` (Unix time).

    Stricter than source_lines.read_source(), because a diff must match the file on disk byte for
    byte.
    """
    if not path.isprintable():
        raise NoDiff("the path contains control characters")
    try:
        status = os.stat(path)
        if not os.path.isfile(path):
            raise NoDiff(f"{path} is not a file")
        if status.st_size > _LARGEST:
            raise NoDiff(f"{path} is larger than {_LARGEST >> 20} MiB")
        # Reports store whole seconds. Both times are used: tools can change the modification time.
        changed = int(max(status.st_ctime, status.st_mtime))
        if unchanged_since is not None and changed > unchanged_since:
            raise NoDiff(f"{path} has changed since the run")
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read()
    except OSError as error:
        raise NoDiff(f"cannot read {path}: {error.strerror}") from None
    except ValueError:
        raise NoDiff(f"{path} is not UTF-8 text") from None
    if "\r" in text:
        raise NoDiff(f"{path} has carriage returns")
    if text.count("\n") > MOST_LINES:
        raise NoDiff(f"{path} has more than {MOST_LINES:,} lines")
    return text


class Source:
    """A source file, its syntax tree, and the edits to make. Raises NoDiff for unusable files."""

    def __init__(self, path: str, text: str) -> None:
        """Parse a source file."""
        self.path = path
        self._mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        self._text = text.removeprefix(BYTE_ORDER_MARK)
        self._lines = self._text.split("\n")
        try:
            self.tree = ast.parse(self._text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NoDiff(f"{path} does not compile") from None
        self._parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        self._edits: list[_Edit] = []
        self._offsets = [0]
        for line in self._lines:
            self._offsets.append(self._offsets[-1] + len(line) + 1)

    def all(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of this class."""
        return [node for node in ast.walk(self.tree) if isinstance(node, kind)]

    def functions(self) -> list[Definition]:
        """The functions of the file, without lambdas."""
        return [node for node in ast.walk(self.tree) if isinstance(node, Definition)]

    @property
    def words(self) -> set[str]:
        """All words in the file."""
        return set(re.findall(r"\w+", self._text))

    def is_called(self, node: ast.AST) -> bool:
        """Whether a node is called."""
        call = self.parent(node)
        return isinstance(call, ast.Call) and call.func is node

    def class_named(self, name: str) -> ast.ClassDef:
        """Find a class by its full name, which has the format of `Reference.holder`."""
        if " " in name:
            raise NoDiff(f"{name} is not an instance of a class")
        full = f".{name.replace('.<locals>', '')}"
        found = [n for n in self.all(ast.ClassDef) if full.endswith(f".{self._qualified_name(n)}")]
        longest = max((len(self._qualified_name(node)) for node in found), default=0)
        found = [node for node in found if len(self._qualified_name(node)) == longest]
        if len(found) != 1:
            raise NoDiff(f"the class {name} is not defined exactly once in this file")
        return found[0]

    def bases_of(self, node: ast.ClassDef, complete: bool = False) -> list[ast.ClassDef]:
        """A class and its base classes, if they are defined in the file.

        Raises NoDiff if `complete` is true and a base class is unknown.
        """
        found = [node]
        for base in node.bases:
            name = ast.unparse(base).partition("[")[0]
            same = [each for each in self.all(ast.ClassDef) if each.name == name != node.name]
            known = name.rpartition(".")[2] in _PLAIN_BASES
            if complete and len(same) != 1 and not known:
                raise NoDiff(f"the base class {name} is not defined in this file")
            found += self.bases_of(same[0], complete) if len(same) == 1 else []
        return found

    def parent(self, node: ast.AST) -> ast.AST:
        """The parent of a node; the module is its own parent."""
        return self._parents.get(node, self.tree)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The parents of a node, innermost first."""
        while node is not self.tree:
            node = self.parent(node)
            yield node

    def function_of(self, node: ast.AST) -> Function | None:
        """The innermost function that contains a node."""
        return next((each for each in self.ancestors(node) if isinstance(each, FUNCTIONS)), None)

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that contains a node."""
        for each in (node, *self.ancestors(node)):
            if isinstance(each, ast.stmt):
                return each
        raise NoDiff("the location is not in a statement")

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The block that contains a statement."""
        for _, value in ast.iter_fields(self.parent(statement)):
            if isinstance(value, list) and statement in value:
                return value
        raise NoDiff("the location is not in a block")

    def insert_before(self, statement: ast.stmt, *lines: str) -> None:
        """Insert lines before a statement, with its indentation."""
        indent = self._indent(statement)
        self._insert(
            self.first_line(statement),
            "".join(f"{indent}{line}\n" if line else "\n" for line in lines),
        )

    def insert_after(self, statement: ast.stmt, *lines: str) -> None:
        """Insert lines after a statement, with its indentation."""
        indent = self._indent(statement)
        self._check_end(statement)
        self._insert(
            (statement.end_lineno or 0) + 1,
            "".join(f"{indent}{line}\n" if line else "\n" for line in lines),
        )

    def replace(self, node: ast.expr, expected: str | None, text: str) -> None:
        """Replace an expression; its source must equal `expected`."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset)
        # Positions inside f-strings are wrong before Python 3.12.
        if expected is not None and self._text[start:end] != expected:
            raise NoDiff(f"line {node.lineno} is not plain code")
        self._edits.append(_Edit(start, end, text))

    def wrap(self, statements: list[ast.stmt], cleanup: str) -> None:
        """Wrap consecutive statements in `try`, with `cleanup` in `finally`."""
        first, last = statements[0], statements[-1]
        if first is last and isinstance(first, ast.Try):
            if first.finalbody:
                self.insert_after(first.finalbody[-1], cleanup)
            else:
                self.insert_after(first, "finally:", self.unit + cleanup)
            return
        for node in ast.walk(ast.Module(statements, [])):
            if isinstance(node, ast.JoinedStr | ast.Constant) and node.lineno != node.end_lineno:
                raise NoDiff("a multi-line string would be indented")
        start, end = self.first_line(first), last.end_lineno or 0
        self.insert_before(first, "try:")
        for line in range(start, end + 1):
            if self._lines[line - 1].strip():
                self._insert(line, self.unit)
        self.insert_after(last, "finally:", self.unit + cleanup)

    @property
    def unit(self) -> str:
        """One level of indentation."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                inner = self._lines[node.body[0].lineno - 1][: node.body[0].col_offset]
                if inner.isspace():
                    return inner[node.col_offset :]
        return "    "

    def diff(self) -> str:
        """The edits as a unified diff. Raises NoDiff if the edited file does not compile."""
        text = self._text
        end = len(text)
        # Backwards, so that offsets stay valid and insertions at the same offset keep their order.
        for edit in sorted(self._edits, key=lambda edit: edit.start)[::-1]:
            if edit.end > end:
                raise NoDiff("two of the changes overlap")
            end = edit.start
            text = text[: edit.start] + edit.text + text[edit.end :]
        text = self._with_import(text)
        try:
            compile(text, self.path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise NoDiff("the edited file would not compile") from None
        name = os.path.relpath(self.path)
        if name.split(os.sep)[0] == os.pardir:  # patch and git apply reject such names
            folder = os.path.dirname(os.path.abspath(self.path))
            raise NoDiff(f"run this command in {folder} or a folder above it, so the diff applies")
        name += "\t" if " " in name else ""  # otherwise `patch` ends the name at a space
        before, after = _lines(self._mark + self._text), _lines(self._mark + text)
        lines = difflib.unified_diff(before, after, name, name)
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )

    def _with_import(self, text: str) -> str:
        body = self.tree.body
        users = [edit.start for edit in self._edits if "weakref." in edit.text]
        if not users:
            return text
        plain = [node for node in body if isinstance(node, ast.Import)]
        imports = [n for n in plain if "weakref" in [a.name for a in n.names if not a.asname]]
        for node in ast.walk(self.tree):
            if node not in imports and "weakref" in _bound(node, reads=not imports):
                raise NoDiff("the file uses the name weakref for something else")
        if imports and self._offsets[imports[0].lineno] <= min(users):
            return text
        head = [node for i, node in enumerate(body) if _is_head(node, i)]
        others = body[len(head) :]
        if others and isinstance(others[0], ast.Import):  # sort it into the first imports
            first = list(itertools.takewhile(lambda node: node in plain, others))
            standard = [node for node in first if ast.unparse(node).split()[1] in _STANDARD]
            before = [node for node in standard if ast.unparse(node) < "import weakref"]
            line = (before[-1].end_lineno or 0) if before else others[0].lineno - 1
            new = "import weakref\n" if standard else "import weakref\n\n"
        elif head:
            line, new = head[-1].end_lineno or 0, "\nimport weakref\n"
        else:
            line, new = others[0].lineno - 1 if others else 0, "import weakref\n\n"
        at = self._offsets[line]  # all edits are below
        return text[:at] + new + text[at:]

    def first_line(self, statement: Function | ast.stmt) -> int:
        """The first line of a statement, including its decorators."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        return min([statement.lineno, *(each.lineno for each in decorators)])

    def _qualified_name(self, node: ast.AST) -> str:
        # Unlike __qualname__, without `<locals>`.
        around = (node, *self.ancestors(node))
        names = [each.name for each in around if isinstance(each, _NAMED)]
        return ".".join(reversed(names))

    def _indent(self, statement: ast.stmt) -> str:
        line = self.first_line(statement)
        indent = self._lines[line - 1].encode()[: statement.col_offset].decode()
        if indent.strip():
            raise NoDiff(f"line {line} has several statements")
        return indent

    def _check_end(self, statement: ast.stmt) -> None:
        rest = self._lines[(statement.end_lineno or 0) - 1].encode()[statement.end_col_offset :]
        if rest.strip() and not rest.lstrip().startswith(b"#"):
            raise NoDiff(f"line {statement.end_lineno} has several statements")

    def _insert(self, line: int, text: str) -> None:
        at = min(self._offsets[line - 1], len(self._text))
        if at == len(self._text) and not self._text.endswith("\n"):
            text = "\n" + text.removesuffix("\n")
        self._edits.append(_Edit(at, at, text))

    def _offset(self, line: int, column: int) -> int:
        return self._offsets[line - 1] + len(self._lines[line - 1].encode()[:column].decode())


def _lines(text: str) -> list[str]:
    # Not splitlines(): a form feed does not end a line.
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def _bound(node: ast.AST, reads: bool) -> list[str]:
    """The names that a node binds and, if `reads` is true, the names that it reads."""
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
        case ast.Name(id=name, ctx=context):
            return [name] if reads or not isinstance(context, ast.Load) else []
        case ast.arg(arg=name) | ast.ClassDef(name=name) | ast.ExceptHandler(name=name):
            return [name or ""]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return [name or ""]
    return []


def _is_head(node: ast.stmt, index: int) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    return index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
