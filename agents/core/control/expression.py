"""Expressions: one line of Python's syntax, a small part of it, that somebody may write.

    expression = parse_expression("result.size > 14000", Language(names={"result": RESULT}))
    expression.evaluate({"result": {"size": 20_000}})

Whatever the text is, it is refused with places, or answered, or has no value (`Unanswerable`).
What it may cost is known before it runs, so that no timer is needed.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from agents.core.control.compiler import Compiler, count_parts
from agents.core.control.evaluation import Evaluation, Run, Unanswerable
from agents.core.control.kinds import ANY, NOTHING, ValueKind, fits
from agents.core.control.language import Language
from agents.core.control.problems import PlacedProblem

TOO_DEEP = "this is nested too deeply"
_RIGHT_FORMS = {
    "&&": "and",
    "||": "or",
    "!": "not",
    "===": "==",
    "!==": "!=",
    "<>": "!=",
    "=": "==",
    "=>": ">=",
    "=<": "<=",
    "=~": "matches(text, pattern)",
    "!~": "not matches(text, pattern)",
}
"""Operators of other languages, and what says the same here."""
_FOREIGN_OPERATOR = re.compile(
    r"""'[^'\n]*'|"[^"\n]*"|===|!==|[=!<>]=|=~|!~|=>|=<|<>|&&|\|\||[=!]"""
)
"""Texts and operators of our own are found as well, and passed over."""


class InvalidExpression(Exception):
    """A text is not an expression of the language. `problems` has at least one, by place."""

    def __init__(self, problems: list[PlacedProblem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("; ".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class Expression:
    """A text that was read: the kind of its value, and how to get it."""

    text: str
    kind: ValueKind
    _run: Run
    _max_steps: int

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Return its value. A name that has no value is nothing. Raises Unanswerable."""
        return self.work_out(Evaluation(values, self._max_steps))

    def work_out(self, evaluation: Evaluation) -> Any:
        """Return its value, within the steps that are left of an evaluation."""
        try:
            return self._run(evaluation)
        except RecursionError:
            raise Unanswerable((1, 1), TOO_DEEP) from None


def parse_expression(text: str, language: Language, wanted: ValueKind = ANY) -> Expression:
    """Read an expression whose value is of the wanted kind. Raises InvalidExpression."""
    source = ExpressionSource(text)
    body = source.parse(language)
    compiler = Compiler(language, source.find_place)
    try:
        part = compiler.compile(body)
    except RecursionError:
        raise InvalidExpression([PlacedProblem(1, 1, TOO_DEEP)]) from None
    check_compiled(compiler, body, part.kind, wanted)
    return Expression(text, part.kind, part.run, language.max_steps)


def check_compiled(compiler: Compiler, body: ast.expr, kind: ValueKind, wanted: ValueKind) -> None:
    """Raise InvalidExpression for what was wrong, or for a value of another kind than is wanted."""
    if not compiler.problems and not _is_wanted(kind, wanted):
        message = f"expected {wanted.name}, not {kind.name}"
        compiler.problems.append(PlacedProblem(*compiler.find_place(body), message))
    if compiler.problems:
        raise InvalidExpression(compiler.problems)


def _is_wanted(kind: ValueKind, wanted: ValueKind) -> bool:
    """Return whether a value is of use. One that is always nothing is of none."""
    return wanted == ANY or (kind != NOTHING and fits(kind, wanted))


class ExpressionSource:
    """The text of an expression: its syntax tree, and where each part of it stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._body = text.strip()
        self._is_plain = self._body.isascii() and self._body.isprintable()
        """Whether it is one line, of which Python counts bytes as it does characters."""
        before = text[: len(text) - len(text.lstrip())]
        self._lines_before = before.count("\n")
        self._columns_before = len(before) - before.rfind("\n") - 1

    def parse(self, language: Language) -> ast.expr:
        if not self._body:
            self._refuse(1, 0, "the expression is empty")
        if len(self._text) > language.max_length:
            self._refuse(1, 0, f"the expression is longer than {language.max_length} characters")
        if "\\" in self._body:  # no escapes: a text says what it shows, and places stay right
            before = self._body[: self._body.index("\\")]
            column = len(before) - before.rfind("\n") - 1
            self._refuse(1 + before.count("\n"), column, "a backslash cannot be used")
        try:
            tree = ast.parse(self._body, mode="eval").body
        except SyntaxError as error:
            self._refuse_foreign_operator()
            self._refuse(error.lineno or 1, (error.offset or 1) - 1, _explain_syntax(error))
        except (ValueError, MemoryError, RecursionError):
            self._refuse(1, 0, "this is not an expression")
        if count_parts(tree) > language.max_parts:
            self._refuse(1, 0, f"the expression has more than {language.max_parts} parts")
        return tree

    def _refuse_foreign_operator(self) -> None:
        """Say what is written instead of the first operator that other languages have."""
        for found in _FOREIGN_OPERATOR.finditer(self._body):
            if (right := _RIGHT_FORMS.get(found[0])) is not None:
                line = 1 + self._body.count("\n", 0, found.start())
                column = found.start() - self._body.rfind("\n", 0, found.start()) - 1
                self._refuse(line, column, f"write {right} instead of {found[0]}")

    def get_text(self, node: ast.expr) -> str:
        """Return a part as it was written."""
        if self._is_plain:
            return self._body[node.col_offset : node.end_col_offset]
        return ast.get_source_segment(self._body, node) or ""

    def find_place(self, node: ast.expr) -> tuple[int, int]:
        """Return the line and the column of a part. Python counts the latter in bytes."""
        if self._is_plain:
            return self._place(1, node.col_offset)
        line = self._body.splitlines()[node.lineno - 1]
        before = line.encode()[: node.col_offset].decode(errors="replace")
        return self._place(node.lineno, len(before))

    def _place(self, line: int, offset: int) -> tuple[int, int]:
        column = max(0, offset) + 1 + (self._columns_before if line <= 1 else 0)
        return max(1, line) + self._lines_before, column

    def _refuse(self, line: int, offset: int, message: str) -> NoReturn:
        raise InvalidExpression([PlacedProblem(*self._place(line, offset), message)]) from None


def _explain_syntax(error: SyntaxError) -> str:
    return f"this is not an expression ({error.msg})"
