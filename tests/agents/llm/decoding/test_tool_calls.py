from typing import Any

import pytest

from agents.core.messages import RawCall
from agents.llm.decoding.text_calls import TextCall
from agents.llm.decoding.tool_calls import ToolCallAssembler


def piece(name: Any = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return {**fields, "function": {"name": name, "arguments": arguments}}


ONE = [RawCall("c1", "vault_search", '{"a": 1}')]
TWO = [*ONE, RawCall("c2", "think", "{}")]

STREAMS: dict[str, tuple[list[Any], list[RawCall]]] = {
    "as specified": (
        [
            [piece("vault_search", "", index=0, id="c1")],
            [piece(None, '{"a"', index=0)],
            [piece(None, ": 1}", index=0)],
        ],
        ONE,
    ),
    "id and name in each delta": (
        [
            [piece("vault_search", '{"a"', index=0, id="c1")],
            [piece("vault_search", ": 1}", index=0, id="c1")],
            [piece("vault_search", "", index=0, id="c1")],
        ],
        ONE,
    ),
    "a new id in each delta": (
        [
            [piece("vault_search", '{"a"', index=0, id="c1")],
            [piece(None, ": 1}", index=0, id="c9")],
        ],
        ONE,
    ),
    "name split": (
        [[piece("vault_", None, index=0, id="c1")], [piece("search", '{"a": 1}', index=0)]],
        ONE,
    ),
    "name growing": (
        [[piece("vault_", None, index=0, id="c1")], [piece("vault_search", '{"a": 1}', index=0)]],
        ONE,
    ),
    "no index, one call": (
        [[piece("vault_search", '{"a"', id="c1")], [piece(None, ": 1}")]],
        ONE,
    ),
    "no index, ids": (
        [
            [piece("vault_search", '{"a"', id="c1")],
            [piece(None, ": 1}", id="c1")],
            [piece("think", "{}", id="c2")],
        ],
        TWO,
    ),
    "no index, in one delta": (
        [[piece("vault_search", '{"a": 1}', id="c1"), piece("think", "{}", id="c2")]],
        TWO,
    ),
    "neither index nor id": (
        [[piece("vault_search", '{"a": 1}')], [piece("think", "{}")]],
        [RawCall("call-1", "vault_search", '{"a": 1}'), RawCall("call-2", "think", "{}")],
    ),
    "neither index nor id nor arguments": (
        [[piece("think"), piece("think")]],
        [RawCall("call-1", "think", ""), RawCall("call-2", "think", "")],
    ),
    "index jumps": (
        [
            [piece("vault_search", '{"a": 1}', index=3, id="c1")],
            [piece("think", "{}", index=7, id="c2")],
        ],
        TWO,
    ),
    "index always 0, ids differ": (
        [
            [piece("vault_search", '{"a": 1}', index=0, id="c1")],
            [piece("think", "{}", index=0, id="c2")],
        ],
        TWO,
    ),
    "index always 0, no ids": (
        [[piece("think", "{}", index=0)], [piece("think", "{}", index=0)]],
        [RawCall("call-1", "think", "{}"), RawCall("call-2", "think", "{}")],
    ),
    "interleaved": (
        [
            [
                piece("vault_search", '{"a"', index=0, id="c1"),
                piece("think", "{", index=1, id="c2"),
            ],
            [piece(None, ": 1}", index=0), piece(None, "}", index=1)],
        ],
        TWO,
    ),
    "arguments as an object": ([[piece("vault_search", {"a": 1}, index=0, id="c1")]], ONE),
    "same id twice": (
        [
            [
                piece("vault_search", '{"a": 1}', index=0, id="c1"),
                piece("think", "{}", index=1, id="c1"),
            ]
        ],
        [*ONE, RawCall("c1-2", "think", "{}")],
    ),
    "a dict instead of a list": ([piece("vault_search", '{"a": 1}', id="c1")], ONE),
    "no function around": ([[{"id": "c1", "name": "vault_search", "arguments": '{"a": 1}'}]], ONE),
    "odd types": ([[piece(5, 5, index="x", id=5), None, "x"], "x", None], []),
    "malformed arguments": ([[piece("think", '{"a', id="c1")]], [RawCall("c1", "think", '{"a')]),
}


@pytest.mark.parametrize(("deltas", "calls"), STREAMS.values(), ids=STREAMS.keys())
def test_calls_are_put_together(deltas: list[Any], calls: list[RawCall]) -> None:
    assembly = ToolCallAssembler()
    for delta in deltas:
        assembly.add(delta)
    assert list(assembly.build_calls()) == calls


def test_a_legacy_function_call_is_one_call() -> None:
    assembly = ToolCallAssembler()
    for function in (
        {"name": "think", "arguments": ""},
        {"arguments": '{"a"'},
        {"arguments": ":1}"},
    ):
        assembly.add_legacy(function)
    assert assembly.build_calls() == (RawCall("call-1", "think", '{"a":1}'),)


def test_a_written_call_takes_no_pieces() -> None:
    assembly = ToolCallAssembler()
    assembly.add_text_call(TextCall("think", "{}"))
    assembly.add([piece("search", "{}", id="c1")])
    assert assembly.build_calls() == (
        RawCall("text-1", "think", "{}"),
        RawCall("c1", "search", "{}"),
    )
