"""Pieces of tool calls, as endpoints send them, become whole calls. No I/O.

Endpoints differ: the index may be missing, jump, or be 0 for every call; the id may come once, in
each piece, or never; the name may come whole, split, or again and again.
"""

import json
from dataclasses import dataclass, field

from agents.core.messages import RawCall
from agents.core.sanitize import replace_unstorable
from agents.llm.decoding.text_calls import TextCall


@dataclass(slots=True, eq=False)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    written: bool = False
    problem: str = ""

    @property
    def is_complete(self) -> bool:
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True


class ToolCallAssembler:
    """All calls of one answer, in the order in which they began."""

    __slots__ = ("_by_index", "_calls", "_written", "chars", "has_malformed")

    def __init__(self) -> None:
        self.chars = 0  # of all pieces so far
        self._calls: list[_PartialCall] = []
        self._by_index: dict[int, _PartialCall] = {}
        self._written = 0
        self.has_malformed = False  # a call in the text that could not be read

    def add_text_call(self, call: TextCall) -> None:
        self._written += 1
        self.has_malformed = self.has_malformed or bool(call.problem)
        self._calls.append(
            _PartialCall(
                f"text-{self._written}", call.name, [call.arguments], True, problem=call.problem
            )
        )

    @property
    def has_structured(self) -> bool:
        """Whether a call came as the protocol has it, not as text."""
        return any(not call.written for call in self._calls)

    def drop_malformed(self) -> int:
        """Forget the malformed calls in the text; return how many characters they had."""
        dropped = [call for call in self._calls if call.problem]
        self._calls = [call for call in self._calls if not call.problem]
        self.has_malformed = False
        return sum(len(piece) for call in dropped for piece in call.arguments)

    def add(self, pieces: object) -> bool:
        """Take the `tool_calls` of one delta; say whether there was anything in it."""
        if isinstance(pieces, dict):
            pieces = [pieces]
        if not isinstance(pieces, list):
            return False
        seen: list[_PartialCall] = []
        for piece in pieces:
            if isinstance(piece, dict):
                seen.append(self._add_fragment(piece, seen))
        return bool(seen)

    def add_legacy(self, function: object) -> bool:
        """Take the `function_call` of a delta: one call, without id or index."""
        return isinstance(function, dict) and self.add([{"index": -1, "function": function}])

    def build_calls(self) -> tuple[RawCall, ...]:
        taken: set[str] = set()
        calls: list[RawCall] = []
        for number, call in enumerate(self._calls, 1):
            arguments = replace_unstorable("".join(call.arguments))
            if call.name or arguments:
                call_id = replace_unstorable(call.id) or f"call-{number}"
                if call_id in taken:
                    call_id = f"{call_id}-{number}"
                taken.add(call_id)
                name = replace_unstorable(call.name)
                calls.append(RawCall(call_id, name, arguments, call.problem))
        return tuple(calls)

    def _add_fragment(self, piece: dict[str, object], seen: list[_PartialCall]) -> _PartialCall:
        function = piece.get("function")
        fields = function if isinstance(function, dict) else piece
        call_id, name = _as_text(piece.get("id")), _as_text(fields.get("name"))
        arguments = fields.get("arguments")
        index = piece.get("index")
        call = self._call_for(index, call_id, seen)
        if call is None or _begins_another(call, call_id, name, arguments):
            call = _PartialCall()
            self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        call.id = call.id or call_id
        call.name = _merge_name(call.name, name)
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif isinstance(arguments, dict | list):
            call.arguments = [json.dumps(arguments)]
        self.chars += len(name) + sum(map(len, call.arguments[-1:]))
        return call

    def _call_for(
        self, index: object, call_id: str, seen: list[_PartialCall]
    ) -> _PartialCall | None:
        """Return the call that a piece goes on with, as far as index and id tell."""
        if isinstance(index, int):
            return self._by_index.get(index)
        calls = [call for call in self._calls if not call.written]
        same_id = (call for call in calls if call_id and call.id == call_id)
        call = next(same_id, calls[-1] if calls else None)
        return None if call in seen else call


def _begins_another(call: _PartialCall, call_id: str, name: str, arguments: object) -> bool:
    """Return whether a piece is of a new call although index, or the lack of it, denies it."""
    if not name:
        return False
    if call_id and call.id:
        return call_id != call.id
    return bool(arguments and call.arguments) and call.is_complete


def _merge_name(name: str, piece: str) -> str:
    return piece if piece.startswith(name) else name + piece


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""
