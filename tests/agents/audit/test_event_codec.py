"""A chunk lies in a row and comes back the same."""

import hashlib
import json
from typing import Any, cast

import pytest
from hypothesis import given

from agents.audit.event_codec import decode_event, encode_chunk, event_digest
from agents.core.chunks import (
    CallView,
    Content,
    Error,
    EventRecord,
    Hint,
    OracleStreamChunk,
    Source,
    SourceRef,
    SystemMessage,
    Thinking,
    ToolCalled,
    Turn,
    to_dict,
)
from agents.models import AgentRun, RunEvent
from tests.agents.core.test_chunks import any_chunk
from tests.agents.models.factories import ada, engine, run_of


def stored(chunk: OracleStreamChunk) -> RunEvent:
    """A row as a database gives it back: JSON has been text in between."""
    return encode_chunk(chunk).build_event(AgentRun().pk)


@given(any_chunk)
def test_every_chunk_comes_back_as_it_was(chunk: OracleStreamChunk) -> None:
    found = decode_event(stored(chunk))
    assert found is not None
    assert to_dict(found) == to_dict(chunk)


@given(any_chunk)
def test_the_digest_can_be_taken_again_from_what_comes_back(chunk: OracleStreamChunk) -> None:
    found = decode_event(stored(chunk))
    assert found is not None
    whole = json.dumps(to_dict(found), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(whole.encode()).hexdigest() == encode_chunk(chunk).sha256


def test_what_was_written_is_kept_apart_from_the_rest() -> None:
    call = CallView("c1", "look", {"query": "a secret"}, "pending")
    for chunk in (Content(content="a secret"), ToolCalled(tool_call=call)):
        row = encode_chunk(chunk)
        assert "a secret" in row.content
        assert "a secret" not in row.data


@given(any_chunk)
def test_what_a_chunk_calls_peoples_words_is_content_and_nothing_else_is(
    chunk: OracleStreamChunk,
) -> None:
    whole, row = to_dict(chunk), encode_chunk(chunk)
    data = json.loads(row.data)
    for path in chunk.traits.word_paths:
        inside = data
        for name in path[:-1]:
            inside, whole[path[0]] = inside[name], dict(whole[path[0]])
        assert path[-1] not in inside
        (whole[path[0]] if len(path) > 1 else whole).pop(path[-1], None)
    optional = [name for name in chunk.traits.optional_words if whole.pop(name, "")]
    assert data.pop("words", []) == optional
    assert {"type": row.kind, "seq": row.seq, "at": whole["at"], **data} == whole
    assert bool(row.content) <= bool(chunk.traits.words or optional)


def test_rows_are_the_bytes_that_they_have_always_been() -> None:
    """Their digests are signed: another spelling of the same would look like tampering."""
    call = CallView("c", "look", {"q": "ä"}, "running")
    metadata = {"action": "look", "n": 1}
    chunks: list[OracleStreamChunk] = [
        Content(seq=1, at=1.5, content="ä"),
        Thinking(seq=2, at=1.5, parent="c", content="hm"),
        ToolCalled(seq=3, at=1.5, tool_call=call),
        Source(seq=4, at=1.5, source=SourceRef("a.md", "vault", 3, "s", 0.5)),
        SystemMessage(
            seq=5,
            at=1.5,
            system_type="no_progress",
            system_message="m",
            severity="info",
            metadata=metadata,
        ),
        Turn(seq=6, at=1.5, number=1, phase="end", action="look:{}"),
        Hint(seq=7, at=1.5, text="t"),
        Error(seq=8, at=1.5, code="c", error="e"),
    ]
    rows = "\n".join("|".join((r.data, r.content, r.signed)) for r in map(encode_chunk, chunks))
    assert hashlib.sha256(rows.encode()).hexdigest() == (
        "3de562277b7b37eb75c7845e2d71615ebfd2c6f4601356d27a2e58869dba42a0"
    )


def test_the_digest_is_of_the_whole_chunk_and_not_of_how_it_is_stored() -> None:
    one = encode_chunk(Content(content="a", seq=1))
    two = encode_chunk(Content(content="a", seq=1))
    other = encode_chunk(Content(content="b", seq=1))
    assert one.sha256 == two.sha256 != other.sha256


def test_a_kind_of_a_newer_version_is_passed_over() -> None:
    event = stored(Content(content="a"))
    event.kind = "hologram"
    assert decode_event(event) is None


def test_content_where_an_event_had_no_texts_is_not_as_recorded() -> None:
    bare = EventRecord(name="query.start", severity="info", source="loop", payload={}, seq=1)
    event = stored(bare)
    assert (event.content, event_digest(event)) == ("", event.sha256)
    event.content = "{}"
    assert event_digest(event) != event.sha256


@given(any_chunk)
def test_a_chunk_whose_content_was_erased_can_still_be_read(chunk: OracleStreamChunk) -> None:
    event = stored(chunk)
    event.content = ""
    found = decode_event(event)
    assert found is not None
    assert (found.type, found.seq) == (chunk.type, chunk.seq)


def test_a_label_from_when_it_was_no_content_is_read_as_it_was() -> None:
    chunk = Turn(number=1, phase="start", interim="Plan", seq=1, at=1.0)
    row = stored(chunk)
    assert row.data.pop("words") == ["interim"]
    row.data["interim"], row.content = "Plan", ""
    assert decode_event(row) == chunk
    assert event_digest(row) == row.sha256


@pytest.mark.django_db
def test_arguments_survive_the_database() -> None:
    user = ada()
    run = run_of(user, engine(user))
    arguments: dict[str, Any] = {"b": [1, None, {"ü": "日本"}], "a": ""}
    encode_chunk(ToolCalled(tool_call=CallView("c", "t", arguments, "running"))).build_event(
        run.pk
    ).save()
    found = cast(ToolCalled, decode_event(RunEvent.objects.get()))
    assert found.tool_call.arguments == arguments
