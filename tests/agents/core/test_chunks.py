"""The run's output: what each chunk says about itself, and what it is on the wire."""

import json
import re
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, cast, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.chunks import (
    CHUNK_TYPES,
    Approval,
    Asker,
    BaseChunk,
    CallStatus,
    CallView,
    Check,
    ChunkTraits,
    Content,
    ContextUpdate,
    Decision,
    Done,
    Error,
    EventRecord,
    EventSeverity,
    EventSource,
    Hint,
    KeptResult,
    OracleStreamChunk,
    ResultCause,
    Source,
    SourceRef,
    Status,
    SystemMessage,
    SystemType,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
    from_dict,
    to_dict,
)

KINDS: tuple[type[Any], ...] = get_args(OracleStreamChunk)

# The fields that every reader counts on, besides `type`, `seq` and `at`.
TABLE = {
    "thinking": {"content"},
    "content": {"content"},
    "tool_call": {"tool_call"},
    "tool_result": {"tool_call_id", "tool_result", "ok", "duration_ms", "order"},
    "kept_result": {"tool_call_id", "tool_result", "duration_ms", "order"},
    "source": {"source"},
    "system": {"role", "system_type", "system_message", "severity", "metadata"},
    "turn": {
        "number",
        "phase",
        "wrap_up",
        "prompt_tokens",
        "completion_tokens",
        "usage_source",
        "model_ms",
        "action",
        "results",
        "finish_reason",
    },
    "decision": {"checkpoint", "continue", "reason", "checks"},
    "hint": {"text"},
    "event": {"name", "severity", "source", "payload"},
    "approval": {"approval_id", "asker", "question", "calls", "snapshot"},
    "status": {"tools", "seconds"},
    "context_update": {"context_tokens", "max_context_tokens"},
    "error": {"code", "error", "cause"},
    "done": {
        "termination_reason",
        "outcome",
        "turns_used",
        "tokens_used",
        "usage_source",
        "model_used",
        "context_id",
    },
}

# -- any chunk ------------------------------------------------------------------------------------

words = st.text(max_size=20)
counts = st.integers(0, 10**9)
numbers = st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | counts | numbers | words
objects = st.dictionaries(words, scalars | st.lists(scalars, max_size=3), max_size=3)
usage_sources = st.sampled_from(["provider", "estimate", "mixed"])
severities = st.sampled_from(["info", "warning", "error"])

stamps: dict[str, st.SearchStrategy[Any]] = {
    "seq": counts,
    "at": st.integers(0, 4 * 10**12).map(lambda ms: ms / 1000),
    "parent": st.just("") | words,
}
calls = st.builds(
    CallView,
    id=words,
    name=words,
    arguments=objects | words,
    status=st.sampled_from(get_args(CallStatus)),
)
references = st.builds(
    SourceRef,
    path=words,
    source_type=st.sampled_from(["vault", "code", "thread", "web"]),
    line=st.none() | counts,
    snippet=words,
    score=st.none() | numbers,
)
checks = st.builds(
    Check,
    rule=words,
    value=st.none() | numbers | words,
    limit=st.none() | numbers | words,
    fired=st.booleans(),
)
optional = st.none() | words
OWN: dict[type[Any], dict[str, st.SearchStrategy[Any]]] = {
    Thinking: {"content": words},
    Content: {"content": words},
    ToolCalled: {"tool_call": calls},
    ToolResult: {
        "tool_call_id": words,
        "tool_result": words,
        "ok": st.booleans(),
        "duration_ms": counts,
        "order": counts,
        "given": words,
        "unfinished": st.booleans(),
        "cause": st.sampled_from(["", *get_args(ResultCause)]),
    },
    KeptResult: {
        "tool_call_id": words,
        "tool_result": words,
        "duration_ms": counts,
        "order": counts,
    },
    Source: {"source": references},
    SystemMessage: {
        "system_type": st.sampled_from(get_args(SystemType)),
        "system_message": words,
        "severity": severities,
        "metadata": objects,
    },
    Turn: {
        "number": counts,
        "phase": st.sampled_from(["start", "end"]),
        "wrap_up": optional,
        "answered": st.booleans(),
        "prompt_tokens": counts,
        "completion_tokens": counts,
        "subagent_tokens": counts,
        "usage_source": usage_sources,
        "model_ms": counts,
        "finish_reason": words,
        "action": words,
        "action_digest": words,
        "pattern": words,
        "results": words,
        "results_normalised": words,
        "writes": st.booleans(),
        "failed": st.none() | st.booleans(),
        "errors": st.none() | st.integers(0, 2),
        "held": counts,
        "interim": words,
        "answers": words,
        "failure": st.sampled_from(["", "provider_error", "timeout"]),
    },
    Decision: {
        "checkpoint": words,
        "goes_on": st.booleans(),
        "reason": words,
        "tree": words,
        "path": words,
        "checks": st.lists(checks, max_size=3).map(tuple),
    },
    Hint: {"text": words, "events": st.lists(st.integers(1, 99), max_size=3).map(tuple)},
    EventRecord: {
        "name": words,
        "severity": st.sampled_from(get_args(EventSeverity)),
        "source": st.sampled_from(get_args(EventSource)),
        "payload": objects,
        "texts": objects,
    },
    Approval: {
        "approval_id": words,
        "asker": st.sampled_from(get_args(Asker)),
        "question": words,
        "calls": st.lists(words, max_size=3).map(tuple),
        "snapshot": objects,
    },
    Status: {"tools": st.lists(words, max_size=3).map(tuple), "seconds": numbers},
    ContextUpdate: {"context_tokens": counts, "max_context_tokens": counts},
    Error: {"code": words, "error": words, "cause": words},
    Done: {
        "termination_reason": words,
        "outcome": words,
        "turns_used": counts,
        "tokens_used": counts,
        "usage_source": usage_sources,
        "model_used": words,
        "context_id": optional,
        "also_triggered": st.lists(words, max_size=3).map(tuple),
        "explanation": words,
    },
}


def some(kind: type[Any]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **stamps, **OWN[kind])


any_chunk = st.one_of([some(kind) for kind in OWN])


def test_the_union_holds_every_documented_type() -> None:
    assert {kind.type for kind in KINDS} == set(TABLE)
    assert set(OWN) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.type))
def test_these_tests_fill_in_every_field(kind: type[Any]) -> None:
    own = {f.name for f in fields(kind)} - {f.name for f in fields(BaseChunk)} - {"role"}
    assert set(OWN[kind]) == own


# -- what a chunk says about itself ---------------------------------------------------------------

IMAGE = ChunkTraits(label="Image", words=("caption",), read_by=("pages",), urgent=False)


def test_a_chunk_class_that_says_what_it_is_can_be_defined() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Image(BaseChunk):
        type: ClassVar[str] = "image"
        traits: ClassVar[ChunkTraits] = IMAGE
        caption: str

    assert Image(caption="a cat").traits.word_paths == (("caption",),)


def test_a_chunk_class_that_does_not_say_what_it_is_is_refused_where_it_is_defined() -> None:
    with pytest.raises(TypeError, match="Image does not say what it is: declare `traits`"):

        class Image(BaseChunk):
            type: ClassVar[str] = "image"


def test_what_another_chunk_says_about_itself_is_not_inherited() -> None:
    with pytest.raises(TypeError, match="Aside does not say what it is"):

        class Aside(Content):
            type: ClassVar[str] = "aside"


def test_a_chunk_class_without_a_type_is_refused() -> None:
    with pytest.raises(TypeError, match="Image has no `type`"):

        class Image(BaseChunk):
            traits: ClassVar[ChunkTraits] = IMAGE
            caption: str


def test_a_chunk_class_whose_words_are_in_no_field_is_refused() -> None:
    with pytest.raises(TypeError, match="Image has no field 'caption'"):

        class Image(BaseChunk):
            type: ClassVar[str] = "image"
            traits: ClassVar[ChunkTraits] = IMAGE
            title: str


def test_traits_leave_nothing_to_be_forgotten() -> None:
    with pytest.raises(TypeError, match="'words', 'read_by', and 'urgent'"):
        ChunkTraits(label="Image")  # type: ignore[call-arg]


# Texts that are nobody's words: names, codes and digests, and what Oracle itself has written.
NOT_WORDS = {
    "tool_call": {"tool_call.id", "tool_call.name"},
    "tool_result": {"tool_call_id"},
    "kept_result": {"tool_call_id"},
    "system": {"metadata"},
    "turn": {
        "wrap_up",
        "finish_reason",
        "action_digest",
        "pattern",
        "results",
        "results_normalised",
        "answers",
    },
    "decision": {"checkpoint", "reason", "tree", "checks", "path"},
    "event": {"name", "payload"},
    "approval": {"approval_id", "calls"},
    "status": {"tools"},
    "error": {"code", "error", "cause"},
    "done": {"termination_reason", "outcome", "model_used", "context_id", "also_triggered"},
}


def texts_in(kind: type[Any], prefix: str = "") -> set[str]:
    """The fields of a chunk that can hold any text, as traits name them."""
    found: set[str] = set()
    for name, hint in get_type_hints(kind).items():
        if is_dataclass(hint):
            found |= texts_in(cast(type[Any], hint), f"{name}.")
        elif get_origin(hint) not in (Literal, ClassVar) and re.search(
            r"\b(str|Any|Check)\b", hint.__name__ if isinstance(hint, type) else str(hint)
        ):
            found.add(prefix + name)
    return found - {"parent"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.type))
def test_every_text_of_a_chunk_is_peoples_words_or_known_to_be_none(kind: type[Any]) -> None:
    """A new field that is neither would be stored where erasure does not reach."""
    own = (*kind.traits.words, *kind.traits.optional_words)
    words = {word for word in own if not word.startswith("metadata.")}
    assert texts_in(kind) == words | NOT_WORDS.get(kind.type, set())


def test_no_two_chunks_share_a_type_or_a_label() -> None:
    assert len(CHUNK_TYPES) == len(KINDS)
    assert len({kind.traits.label for kind in KINDS}) == len(KINDS)


# -- the wire -------------------------------------------------------------------------------------


@given(any_chunk)
def test_a_chunk_survives_the_wire(chunk: Any) -> None:
    assert from_dict(json.loads(json.dumps(to_dict(chunk), allow_nan=False))) == chunk


@given(any_chunk)
def test_every_chunk_carries_its_documented_fields(chunk: Any) -> None:
    data = to_dict(chunk)
    assert data["type"] == chunk.type
    assert data["seq"] == chunk.seq
    assert set(data) >= {"type", "seq", "at"} | TABLE[chunk.type]


@given(any_chunk)
def test_the_time_is_iso_8601_in_utc(chunk: Any) -> None:
    at = datetime.fromisoformat(to_dict(chunk)["at"])
    assert at.tzinfo is not None
    assert at.utcoffset() == UTC.utcoffset(None)
    assert at.timestamp() == pytest.approx(chunk.at, abs=0.001)


@given(any_chunk)
def test_only_a_subagents_chunk_has_a_parent(chunk: Any) -> None:
    assert to_dict(chunk).get("parent", "") == chunk.parent
    assert ("parent" in to_dict(chunk)) is bool(chunk.parent)


@given(any_chunk)
def test_chunks_of_the_wire_are_numbers_strings_lists_and_objects(chunk: Any) -> None:
    data = to_dict(chunk)
    assert json.loads(json.dumps(data)) == data


def test_a_tool_call_is_nested() -> None:
    view = CallView("c1", "look", {"page": 1}, "running")
    assert to_dict(ToolCalled(seq=3, at=0.0, tool_call=view)) == {
        "type": "tool_call",
        "seq": 3,
        "at": "1970-01-01T00:00:00.000+00:00",
        "tool_call": {"id": "c1", "name": "look", "arguments": {"page": 1}, "status": "running"},
    }


def test_a_source_is_nested() -> None:
    source = SourceRef("notes/a.md", "vault", 12, "so it is", 0.5)
    assert to_dict(Source(source=source))["source"] == {
        "path": "notes/a.md",
        "source_type": "vault",
        "line": 12,
        "snippet": "so it is",
        "score": 0.5,
    }
    place = SourceRef("notes/a.md", "vault", 12, heading="Plan > Tides", end_line=14)
    shown = to_dict(Source(source=place))["source"]
    assert (shown["heading"], shown["end_line"]) == ("Plan > Tides", 14)


def test_a_decision_says_continue_on_the_wire() -> None:
    decision = Decision(
        checkpoint="turn",
        goes_on=False,
        reason="timeout",
        tree="default",
        checks=(Check("timeout", 9.5, 9.0, fired=True),),
    )
    data = to_dict(decision)
    assert data["continue"] is False
    assert "goes_on" not in data
    assert data["checks"] == [{"rule": "timeout", "value": 9.5, "limit": 9.0, "fired": True}]


def test_a_system_chunk_has_the_role_system() -> None:
    chunk = SystemMessage(system_type="provider", system_message="m", severity="info", metadata={})
    assert to_dict(chunk)["role"] == "system"


def test_the_system_types_are_the_documented_ones() -> None:
    assert set(get_args(SystemType)) == {
        "limit_warning",
        "limit_reached",
        "no_progress",
        "error_limit",
        "loop_warning",
        "tool_limit",
        "context_warning",
        "cancelled",
        "interrupted",
        "provider",
        "notification",
    }


# -- readers of another version -------------------------------------------------------------------


def test_an_unknown_type_is_ignored() -> None:
    data = {"type": "applause", "seq": 1, "at": "2026-01-01T00:00:00.000+00:00", "loud": True}
    assert from_dict(data) is None


@given(any_chunk)
def test_a_field_of_a_newer_writer_is_ignored(chunk: Any) -> None:
    assert from_dict({**to_dict(chunk), "mood": "good"}) == chunk


@pytest.mark.parametrize(
    ("chunk", "nested"),
    [
        (ToolCalled(tool_call=CallView("c", "look", {}, "pending")), "tool_call"),
        (Source(source=SourceRef("a", "vault")), "source"),
    ],
)
def test_a_nested_field_of_a_newer_writer_is_ignored(chunk: OracleStreamChunk, nested: str) -> None:
    data = to_dict(chunk)
    assert from_dict({**data, nested: {**data[nested], "mood": "good"}}) == chunk


def test_a_check_of_a_newer_writer_is_read_without_its_new_field() -> None:
    chunk = Decision(
        checkpoint="turn",
        goes_on=True,
        reason="",
        tree="t",
        checks=(Check("timeout", 1.0, 2.0, fired=False),),
    )
    data = to_dict(chunk)
    assert from_dict({**data, "checks": [{**data["checks"][0], "mood": "good"}]}) == chunk


# -- cheap and safe -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, CallView, Check, SourceRef], ids=lambda k: k.__name__)
def test_chunks_are_slotted_and_frozen(kind: type[Any]) -> None:
    made = object.__new__(kind)
    assert not hasattr(made, "__dict__")
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(kind)[0].name, 1)
