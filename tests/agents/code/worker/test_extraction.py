"""What a file defines, uses and imports."""

import pytest

from agents.code.worker.extraction import extract

PYTHON = b"""
import os, a.b as c
from . import x
from django.db import (models, # why
   fields as f)
MAX = 3
class A(models.Model):
    name: str = "x"
    def read(self, n=MAX):
        total = c.foo(n) + self.read(x)
        def inner(): return total
        return [f(i).y for i in total]
@deco
async def top(a,
    b: A) -> A: return A(name=b)
"""


def test_python_definitions_have_their_place_and_signature() -> None:
    assert [tuple(symbol) for symbol in extract(PYTHON, "python")["symbols"]] == [
        ("MAX", "", "constant", 6, 6, "MAX = 3"),
        ("A", "", "class", 7, 12, "class A(models.Model)"),
        ("name", "A", "field", 8, 8, 'name: str = "x"'),
        ("read", "A", "method", 9, 12, "def read(self, n=MAX)"),
        ("inner", "A.read", "function", 11, 11, "def inner()"),
        ("top", "", "function", 14, 15, "async def top(a, b: A) -> A"),
    ]


def test_names_of_a_function_alone_are_no_references() -> None:
    references = extract(PYTHON, "python")["references"]
    assert references["self.read"] == references["c.foo"] == [10]
    assert references["A"] == [15]
    assert {"n", "total", "i", "b", "name"}.isdisjoint(references)


def test_imports_say_what_each_name_is_called_there() -> None:
    assert extract(PYTHON, "python")["imports"] == [
        ["os", {"os": ""}, 2],
        ["a.b", {"c": ""}, 2],
        [".", {"x": "x"}, 3],
        ["django.db", {"models": "models", "f": "fields"}, 4],
    ]


def test_what_is_assigned_again_counts_once_and_what_is_declared_each_time() -> None:
    again = extract(b"A = 1\nA = 2\n", "python")["symbols"]
    assert [symbol[3] for symbol in again] == [1]
    declared = extract(b"f<{ ok: true }>()\nf<{ ok: false }>()\n", "typescript")["symbols"]
    assert [(name, line) for name, _, _, line, *_ in declared] == [("ok", 1), ("ok", 2)]


def test_a_broken_file_still_has_its_definitions() -> None:
    found = extract(b"def a(:\n  pass\n\ndef b():\n  pass\n", "python")["symbols"]
    assert "b" in [name for name, *_ in found]


def test_a_long_file_is_read_to_its_end() -> None:
    lines = [
        f"class A{n}:\n    def m(self, x={n}):\n        return self.m(x)\n" for n in range(900)
    ]
    found = extract("".join(lines).encode(), "python")["symbols"]
    assert [tuple(symbol[:2]) for symbol in found[-2:]] == [("A899", ""), ("m", "A899")]


@pytest.mark.parametrize("grammar", ["javascript", "typescript"])
def test_the_own_name_of_a_function_expression_is_no_use_of_what_is_so_named(grammar: str) -> None:
    source = b"const csrf = () => {\n  return function csrf() {\n    csrf()\n  }\n}\ncsrf()\n"
    assert extract(source, grammar)["references"] == {"csrf": [6]}
