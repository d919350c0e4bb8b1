"""Conversations as JSON."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.conversations import tree
from chat.export import json_document
from tests.chat.export.factories import half_written, limited
from tests.chat.factories import Talk, grown

pytestmark = pytest.mark.django_db


def exported(talk: Talk, *, whole_tree: bool = False) -> Any:
    return json.loads("".join(json_document(talk.now, whole_tree=whole_tree)))


def test_a_conversation_is_exported_with_all_its_runs_said() -> None:
    talk = Talk()
    exchange = limited(talk)
    document = exported(talk)
    assert document["title"] == "What is it?"
    assert document["project"]["name"] == talk.project.name
    assert (document["scope"], document["head"]) == ("path", str(exchange.pk))
    first, second = document["exchanges"]
    assert (first["parent"], second["parent"]) == (None, str(talk.first.pk))
    assert second["question"] == "Which gauges?"
    assert second["answer"] == "It is **so**."
    assert second["explanation"] == "The run used all its iterations."
    assert second["tool_calls"] == [
        {
            "id": "c1",
            "name": "vault_search",
            "arguments": {"query": "tide"},
            "status": "running",
            "ok": True,
            "result": "three gauges",
            "duration_ms": 1234,
        },
        {
            "id": "c2",
            "name": "look",
            "arguments": "{bad",
            "status": "refused",
            "ok": None,
            "result": None,
            "duration_ms": None,
        },
    ]
    assert second["sources"][0]["path"] == "ops/gauge.md"
    (notice,) = second["notices"]
    assert notice["system_message"] == "All iterations are used."
    run = second["run"]
    assert (run["model"], run["reason"]) == ("scripted", "max_iterations")
    assert (run["tokens_in"], run["tokens_out"], run["usage_source"]) == (1_200, 34, "provider")


def test_the_path_leaves_out_other_branches_and_the_tree_has_them() -> None:
    talk = Talk()
    one = talk.ask("one")
    two = talk.edit(one, "two")
    tree.set_label(one, "the old way")
    assert [e["id"] for e in exported(talk)["exchanges"]] == [str(talk.first.pk), str(two.pk)]
    whole = exported(talk, whole_tree=True)
    assert whole["scope"] == "tree"
    assert [(e["question"], e["on_path"], e["label"]) for e in whole["exchanges"]] == [
        ("What is it?", True, ""),
        ("one", False, "the old way"),
        ("two", True, ""),
    ]


def test_a_run_that_is_still_going_is_exported_as_far_as_it_came() -> None:
    talk = Talk()
    half_written(talk)
    last = exported(talk)["exchanges"][-1]
    assert last["answer"] == "So far"
    assert last["run"]["outcome"] is None
    assert last["run"]["ended_at"] is None


def test_any_text_survives() -> None:
    talk = Talk('quotes " and \\ and \u2028 and </script> and \U0001f600')
    assert exported(talk)["exchanges"][0]["question"] == talk.first.run.question


def test_a_long_conversation_is_read_in_batches() -> None:
    talk = Talk()
    grown(talk, 100)
    conversation = talk.now
    pieces = json_document(conversation)
    with CaptureQueriesContext(connection) as queries:
        next(pieces)
        next(pieces)
    assert len(queries) == 3
    with CaptureQueriesContext(connection) as queries:
        rest = list(pieces)
    assert len(queries) == 2 * 4
    assert len(rest) == 100
