"""What a page may say: one model per verb, and a sentence for everything else."""

import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.errors import InvalidAction
from chat.live.commands import (
    Ack,
    Continue,
    RenameConversation,
    ResumePage,
    Stop,
    Submit,
    parse_command,
)
from chat.services.ask import MAX_MESSAGE_ID_LENGTH, MAX_QUESTION_LENGTH
from tests.support.hostile import json_suite

ID = "12345678-1234-5678-1234-567812345678"
VALID: dict[str, dict[str, Any]] = {
    "submit": {"question": "Why?", "client_message_id": "m1", "edits": "", "tree": ""},
    "stop": {},
    "resume": {"head": ID, "live": [ID]},
    "regenerate": {"exchange": ID, "client_message_id": "m1"},
    "continue": {"run": ID, "limit": "max_iterations", "value": "20", "save": "yes"},
    "switch": {"exchange": ID},
    "checkout": {"exchange": ID},
    "rename": {"title": "Salt"},
    "ack": {"frames": 3},
}


def said(verb: str, **fields: Any) -> Any:
    return parse_command(json.dumps({"verb": verb, **fields}))


def refusal(text: str) -> str:
    with pytest.raises(InvalidAction) as refused:
        parse_command(text)
    return str(refused.value)


@pytest.mark.parametrize("verb", VALID)
def test_every_verb_is_understood(verb: str) -> None:
    assert said(verb, **VALID[verb]).verb == verb


@pytest.mark.parametrize("verb", VALID)
def test_no_verb_takes_more_than_its_fields(verb: str) -> None:
    assert "more" in refusal(json.dumps({"verb": verb, **VALID[verb], "more": 1}))


@pytest.mark.parametrize("verb", VALID)
def test_the_headers_of_htmx_are_dropped_unread(verb: str) -> None:
    assert said(verb, **VALID[verb], HEADERS={"X-CSRFToken": "s"}) == said(verb, **VALID[verb])


def test_fields_become_what_they_mean() -> None:
    assert said("resume", head="", live=[]) == ResumePage(verb="resume", head="", live=[])
    assert said("resume", head=ID) == ResumePage(verb="resume", head=UUID(ID))
    assert said("continue", run=ID, value="20") == Continue(verb="continue", run=UUID(ID), value=20)
    assert said("stop") == Stop(verb="stop")
    assert said("ack", frames=0) == Ack(verb="ack", frames=0)


@pytest.mark.parametrize(
    ("verb", "fields"),
    [
        ("submit", {"question": "x" * (MAX_QUESTION_LENGTH + 1), "client_message_id": "m"}),
        ("submit", {"question": "x", "client_message_id": "m" * (MAX_MESSAGE_ID_LENGTH + 1)}),
        ("submit", {"question": None, "client_message_id": "m"}),
        ("submit", {"question": "x"}),
        ("submit", {"question": "x", "client_message_id": "m", "edits": "x"}),
        ("resume", {"live": [str(uuid4()) for _ in range(21)]}),
        ("resume", {"head": "x"}),
        ("regenerate", {}),
        ("continue", {"run": ID, "value": "many"}),
        ("continue", {"run": ID, "save": "on"}),
        ("ack", {"frames": -1}),
        ("rename", {"title": "x" * 401}),
        ("rename", {}),
    ],
)
def test_what_is_out_of_bounds_is_refused(verb: str, fields: dict[str, Any]) -> None:
    sentence = refusal(json.dumps({"verb": verb, **fields}))
    assert sentence.endswith(".")
    assert len(sentence) < 400


def test_a_question_that_is_too_long_is_told_what_to_do() -> None:
    long = {"verb": "submit", "question": "x" * 20_000, "client_message_id": "m"}
    assert "Put long material into a note" in refusal(json.dumps(long))


def test_the_longest_question_fits() -> None:
    longest = said("submit", question="x" * MAX_QUESTION_LENGTH, client_message_id="m")
    assert isinstance(longest, Submit)
    assert isinstance(said("rename", title=""), RenameConversation)


def test_what_was_said_is_not_repeated_in_full() -> None:
    assert len(refusal(json.dumps({"verb": "stop", "x" * 50_000: 1}))) < 400


def test_an_unknown_verb_is_not_repeated_in_full() -> None:
    assert len(refusal(json.dumps({"verb": "x" * 50_000}))) < 400


def test_half_a_character_in_a_question_is_mended() -> None:
    assert said("submit", question="so \ud83d", client_message_id="m").verb == "submit"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.text() | json_values.map(json.dumps))
def test_anything_at_all_is_understood_or_refused(text: str) -> None:
    try:
        parse_command(text)
    except InvalidAction as refused:
        str(refused).encode()


@given(st.sampled_from(sorted(VALID)), st.text(), json_values, st.booleans())
def test_a_verb_with_any_field_changed_is_understood_or_refused(
    verb: str, name: str, value: Any, own: bool
) -> None:
    fields = sorted(VALID[verb]) if own else []
    try:
        parse_command(json.dumps({"verb": verb, **VALID[verb], (fields or [name])[0]: value}))
    except InvalidAction as refused:
        str(refused).encode()


def test_the_documents_of_the_json_suite_are_refused() -> None:
    for document in json_suite():
        assert refusal(document.decode("utf-8", "replace"))
