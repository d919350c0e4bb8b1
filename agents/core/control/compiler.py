"""Python's syntax tree to closures, each part checked against the kinds of what it is made of.

Nothing of the text is ever run by Python: what is not named here is refused, with its place.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any

from agents.core.control.access import build_field, build_item, build_lookup, build_loop
from agents.core.control.agreement import (
    check_arguments,
    check_comparison,
    describe_node,
    takes_list,
)
from agents.core.control.evaluation import CompiledPart, Evaluation, Run, Unanswerable
from agents.core.control.functions import ExpressionFunction
from agents.core.control.kinds import (
    ANY,
    NUMBER,
    TEXT,
    TRUTH,
    ListKind,
    MapKind,
    RecordKind,
    ValueKind,
    fits,
    join_kinds,
    kind_of,
)
from agents.core.control.language import Language
from agents.core.control.operators import (
    ARITHMETIC,
    Place,
    build_arithmetic,
    build_comparison,
    build_sign,
    check_number,
)
from agents.core.control.problems import PlacedProblem, suggest_name

LITERALS: Mapping[str, Any] = {"true": True, "false": False, "null": None}
"""What TOML and JSON call them; Python's own spellings are constants of its syntax."""
_LIST = ListKind(ANY)
_SIGNS = (ast.USub, ast.UAdd)


class Compiler:
    """Compiles one expression and gathers all of its problems."""

    def __init__(self, language: Language, find_place: Callable[[ast.expr], Place]) -> None:
        self.language = language
        self.problems: list[PlacedProblem] = []
        self.find_place = find_place
        self._loop: tuple[str, ValueKind] | None = None
        """The name of the item in the loop that is being compiled, and its kind."""
        self._compilers: Mapping[type[ast.expr], Callable[[Any], CompiledPart]] = {
            ast.Attribute: self._compile_attribute,
            ast.BinOp: self._compile_arithmetic,
            ast.BoolOp: self._compile_logic,
            ast.Call: self._compile_call,
            ast.Compare: self._compile_comparison,
            ast.Constant: self._compile_constant,
            ast.IfExp: self._compile_choice,
            ast.List: self._compile_list,
            ast.ListComp: self._compile_comprehension,
            ast.Name: self._compile_name,
            ast.Subscript: self._compile_item,
            ast.UnaryOp: self._compile_unary,
        }

    def compile(self, node: ast.expr) -> CompiledPart:
        compiler = self._compilers.get(type(node))
        if compiler is None or type(node) not in self.language.syntax:
            return self._refuse(node, f"{describe_node(node)} cannot be used here")
        return compiler(node)

    def _refuse(self, node: ast.expr, message: str) -> CompiledPart:
        """Note a problem, and go on with a part of any kind, so that all problems are found."""
        self.problems.append(PlacedProblem(*self.find_place(node), message))
        return CompiledPart(ANY, _return_nothing)

    # -- values -----------------------------------------------------------------------------------

    def _compile_constant(self, node: ast.Constant) -> CompiledPart:
        value: Any = node.value
        if isinstance(value, bytes | complex) or value is ...:
            return self._refuse(node, "only numbers, texts, true, false and null can be written")
        kind, limit = kind_of(value), self.language.max_number
        if kind == NUMBER and not -limit <= value <= limit:
            return self._refuse(node, "the number is too large")
        return CompiledPart(kind, lambda _: value)

    def _compile_name(self, node: ast.Name) -> CompiledPart:
        name, names = node.id, self.language.names
        if self._loop and name == self._loop[0]:
            return CompiledPart(self._loop[1], _return_item)
        if name in names:
            return CompiledPart(names[name], lambda evaluation: evaluation.values.get(name))
        if name in LITERALS:
            value = LITERALS[name]
            return CompiledPart(kind_of(value), lambda _: value)
        near = suggest_name(name, names) or "; if it is a text, put it in quotes"
        return self._refuse(node, f"there is no {name!r}{near}")

    def _compile_list(self, node: ast.List) -> CompiledPart:
        parts = [self.compile(item) for item in node.elts]
        runs = tuple(part.run for part in parts)
        kind = ListKind(join_kinds(part.kind for part in parts) if parts else ANY)
        return CompiledPart(kind, lambda evaluation: [run(evaluation) for run in runs])

    def _compile_attribute(self, node: ast.Attribute) -> CompiledPart:
        thing, name = self.compile(node.value), node.attr
        if name.startswith("_"):
            return self._refuse(node, f"{name!r} cannot be used: it begins with an underscore")
        match thing.kind:
            case RecordKind(name=label, fields=fields):
                if name not in fields:
                    near = suggest_name(name, fields)
                    return self._refuse(node, f"there is no {name!r} in {label}{near}")
                kind = fields[name]
            case MapKind(value=kind):
                pass
            case kind if kind == ANY:
                pass
            case kind:
                return self._refuse(node, f"{kind.name} has no {name!r}")
        match node.value:
            case ast.Name(id=root) if root in self.language.names:
                return CompiledPart(kind, build_field(root, name))
        return CompiledPart(kind, build_lookup(thing.run, name))

    def _compile_item(self, node: ast.Subscript) -> CompiledPart:
        if isinstance(node.slice, ast.Slice):
            return self._refuse(node, "a range of a list cannot be taken")
        container, key = self.compile(node.value), self.compile(node.slice)
        match container.kind:
            case ListKind(item=kind):
                wanted = NUMBER
            case MapKind(value=kind):
                wanted = TEXT
            case RecordKind(name=label):
                return self._refuse(node, f"write {label}.name, without brackets")
            case kind if kind == ANY:
                wanted = ANY
            case other:
                return self._refuse(node, f"{other.name} has no items")
        if not fits(key.kind, wanted):
            text = f"an item of {container.kind.name} is taken by {wanted.name}"
            return self._refuse(node.slice, f"{text}, not by {key.kind.name}")
        return CompiledPart(kind, build_item(container.run, key.run, self.find_place(node)))

    # -- operators --------------------------------------------------------------------------------

    def _compile_unary(self, node: ast.UnaryOp) -> CompiledPart:
        if isinstance(node.op, ast.Not):
            run = self.compile(node.operand).run
            return CompiledPart(TRUTH, lambda evaluation: not run(evaluation))
        inner: ast.expr = node
        negative = False
        while isinstance(inner, ast.UnaryOp) and isinstance(inner.op, _SIGNS):
            negative ^= isinstance(inner.op, ast.USub)
            inner = inner.operand
        if inner is node:
            return self._refuse(node, "~ cannot be used here")
        operand = self.compile(inner)
        if not fits(operand.kind, NUMBER):
            return self._refuse(node, f"- cannot be used on {operand.kind.name}")
        place = self.find_place(node)
        return CompiledPart(NUMBER, build_sign(operand.run, place, negative=negative))

    def _compile_arithmetic(self, node: ast.BinOp) -> CompiledPart:
        op = type(node.op)
        if op not in ARITHMETIC or (op is ast.Pow and not self.language.max_exponent):
            return self._refuse(node, f"{describe_node(node.op)} cannot be used here")
        left, right = self.compile(node.left), self.compile(node.right)
        kinds = (left.kind, right.kind)
        place = self.find_place(node)
        run = build_arithmetic(op, left.run, right.run, place, self.language)
        if all(fits(kind, NUMBER) for kind in kinds):
            is_open = op is ast.Add and ANY in kinds
            return CompiledPart(ANY if is_open else NUMBER, run)
        if op is ast.Add and all(fits(kind, TEXT) for kind in kinds):
            return CompiledPart(TEXT, run)
        symbol = ARITHMETIC[op][0]
        return self._refuse(node, f"{symbol} cannot be used on {kinds[0].name} and {kinds[1].name}")

    def _compile_logic(self, node: ast.BoolOp) -> CompiledPart:
        parts = [self.compile(value) for value in node.values]
        *first, last = (part.run for part in parts)
        stops_at = isinstance(node.op, ast.Or)

        def run(evaluation: Evaluation) -> Any:
            for one in first:
                value = one(evaluation)
                if bool(value) is stops_at:
                    return value
            return last(evaluation)

        return CompiledPart(join_kinds(part.kind for part in parts), run)

    def _compile_choice(self, node: ast.IfExp) -> CompiledPart:
        test, first, second = map(self.compile, (node.test, node.body, node.orelse))
        yes, no, holds = first.run, second.run, test.run
        return CompiledPart(
            join_kinds((first.kind, second.kind)),
            lambda evaluation: yes(evaluation) if holds(evaluation) else no(evaluation),
        )

    def _compile_comparison(self, node: ast.Compare) -> CompiledPart:
        return self.join_operands(node, self.compile_operands(node))

    def compile_operands(self, node: ast.Compare) -> list[CompiledPart]:
        return [self.compile(operand) for operand in (node.left, *node.comparators)]

    def join_operands(self, node: ast.Compare, parts: list[CompiledPart]) -> CompiledPart:
        """Return the comparison of operands that were compiled."""
        runs: list[Run] = []
        for op, left, right in zip(node.ops, parts, parts[1:], strict=False):
            if problem := check_comparison(type(op), left.kind, right.kind):
                return self._refuse(node, problem)
            runs.append(build_comparison(type(op), left.run, right.run, self.find_place(node)))
        if len(runs) == 1:
            return CompiledPart(TRUTH, runs[0])
        return CompiledPart(TRUTH, lambda evaluation: all(run(evaluation) for run in runs))

    # -- functions and loops ----------------------------------------------------------------------

    def _compile_call(self, node: ast.Call) -> CompiledPart:
        functions = self.language.functions
        if not isinstance(node.func, ast.Name):
            return self._refuse(node, "only functions can be called, by their names")
        name, nodes = node.func.id, node.args
        if name not in functions:
            return self._refuse(
                node, f"there is no function {name!r}{suggest_name(name, functions)}"
            )
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in nodes):
            return self._refuse(node, f"{name} takes values only, by their order")
        function = functions[name]
        if function.result is None and len(nodes) > 1:  # min(a, b) is min([a, b])
            parts = [self._compile_list(ast.List(nodes))]
        else:
            parts = [self._compile_argument(argument, function) for argument in nodes]
        if problem := check_arguments(name, function, [part.kind for part in parts]):
            return self._refuse(node, problem)
        return self._build_call(node, name, function, parts)

    def _compile_argument(self, node: ast.expr, function: ExpressionFunction) -> CompiledPart:
        """Compile an argument. A loop stands there without brackets, and may end early."""
        if isinstance(node, ast.GeneratorExp) and takes_list(function):
            return self._compile_comprehension(node, is_lazy=function.is_lazy)
        return self.compile(node)

    def _build_call(
        self, node: ast.Call, name: str, function: ExpressionFunction, parts: list[CompiledPart]
    ) -> CompiledPart:
        call, place, limit = function.call, self.find_place(node), self.language.max_number
        count_steps = function.count_steps
        runs = tuple(part.run for part in parts)
        kind = function.result
        if kind is None:
            first = parts[0].kind
            kind = first.item if isinstance(first, ListKind) else ANY

        def run(evaluation: Evaluation) -> Any:
            values = [one(evaluation) for one in runs]
            for value in values:
                evaluation.spend_on(value, place)
            if count_steps is not None:
                evaluation.spend(count_steps(*values), place)
            try:
                result = call(*values)
            except (TypeError, ValueError, OverflowError):
                given = " and ".join(kind_of(value).name for value in values)
                raise Unanswerable(place, f"{name} cannot be used on {given}") from None
            if type(result) is int or type(result) is float:
                return check_number(result, limit, place)
            return result

        return CompiledPart(kind, run)

    def _compile_comprehension(
        self, node: ast.ListComp | ast.GeneratorExp, *, is_lazy: bool = False
    ) -> CompiledPart:
        loop = node.generators[0]
        if self._loop or len(node.generators) > 1:
            return self._refuse(node, "a loop cannot stand in a loop")
        if not isinstance(loop.target, ast.Name) or loop.is_async:
            return self._refuse(node, "a loop has one name for its items")
        name = loop.target.id
        if name in self.language.names or name in LITERALS or name.startswith("_"):
            return self._refuse(loop.target, f"{name!r} cannot name the items: choose another word")
        items = self.compile(loop.iter)
        if not fits(items.kind, _LIST):
            return self._refuse(loop.iter, f"a loop goes over a list, not over {items.kind.name}")
        self._loop = (name, items.kind.item if isinstance(items.kind, ListKind) else ANY)
        value = self.compile(node.elt)
        tests = tuple(self.compile(test).run for test in loop.ifs)
        self._loop = None
        steps = count_parts(node.elt) + sum(map(count_parts, loop.ifs))
        iterate = build_loop(items.run, tests, value.run, steps, self.find_place(node))
        return CompiledPart(
            ListKind(value.kind),
            iterate if is_lazy else lambda evaluation: list(iterate(evaluation)),
        )


def _return_nothing(evaluation: Evaluation) -> Any:
    return None


def _return_item(evaluation: Evaluation) -> Any:
    return evaluation.item


def count_parts(node: ast.AST) -> int:
    """Return of how many parts an expression is made: values, names, operators, calls."""
    return sum(isinstance(part, ast.expr) for part in ast.walk(node))
