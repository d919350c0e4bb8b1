"""Conversations as Markdown."""

import json

import pytest
from markdown_it import MarkdownIt

from agents.core.chunks import Content, SystemMessage, Turn
from agents.models import AgentRun
from chat.conversations import commands, tree
from chat.export import json_document, markdown_document
from tests.chat.export.factories import half_written, limited
from tests.chat.factories import Talk, said

pytestmark = pytest.mark.django_db

HOSTILE = [
    "```\nnever closed",
    "````python\n```\n~~~",
    "~~~\nnever closed",
    "<!-- never closed",
    "<script>\nnever closed",
    "<pre>\n\n# not ours",
    "- item\n\n  ```\n  in a list",
    "> ```\n> in a quote",
    "text\r```\rwith old line ends",
    "[x]: <",
    "\\",
    "`",
    "``` ``` ```",
]


def exported(talk: Talk) -> str:
    return "".join(markdown_document(talk.now))


def headings(document: str) -> list[str]:
    """The headings of the second level that stand on their own, as a reader sees them."""
    tokens = MarkdownIt("commonmark").parse(document)
    return [
        tokens[at + 1].content
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2" and token.level == 0
    ]


def test_a_conversation_reads_from_question_to_reason() -> None:
    talk = Talk()
    limited(talk)
    document = exported(talk)
    assert document.startswith(f"# What is it?\n\n{talk.project.name}, ")
    assert document.endswith(
        """
## 2. Which gauges?

> Which gauges?

**Tool** `vault_search`, done after 1.2 s

```json
{
  "query": "tide"
}
```

```text
three gauges
```

**Tool** `look`, refused

```json
{bad
```

No result.

It is **so**.

> **System, limit:** All iterations are used.

> The run used all its iterations.

**Sources**

- `ops/gauge.md` (vault, line 3): a \\*gauge\\*

`scripted`, 4 iterations, 1,200 tokens in, 34 out (provider), Iteration limit
"""
    )


def test_labels_name_their_exchanges() -> None:
    talk = Talk()
    tree.set_label(talk.first, "the *start*")
    assert "## 1. the \\*start\\*" in exported(talk)


def test_a_failed_run_says_what_went_wrong_and_a_running_one_that_it_runs() -> None:
    talk = Talk()
    talk.ask(outcome="failed", reason="provider_error", error="The model is *down*.", answer="")
    half_written(talk)
    document = exported(talk)
    assert "> **Error:** The model is \\*down\\*." in document
    assert "Model endpoint\n" in document
    assert "So far" in document
    assert document.endswith("still running\n")


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_can_swallow_what_comes_after_it(text: str) -> None:
    talk = Talk(text)
    exchange = limited(talk, result=text)
    AgentRun.objects.filter(pk=exchange.run_id).update(answer=text, explanation=text, error=text)
    talk.ask("The end?")
    commands.rename(talk.now, text)
    found = headings(exported(talk))
    assert [heading.split(". ")[0] for heading in found] == ["1", "2", "3"]
    assert found[-1] == "3. The end?"


def test_a_notice_stands_before_or_behind_the_answer_as_it_was_told() -> None:
    talk = Talk()
    exchange = talk.ask("Which gauges?", outcome="completed", reason="completed", answer="Three.")
    said(
        exchange,
        [
            Turn(seq=1, at=1.0, number=1, phase="start"),
            notification(2, "One failed."),
            Turn(seq=3, at=1.0, number=1, phase="end"),
            notification(4, "One is stale."),
            Turn(seq=5, at=2.0, number=2, phase="start"),
            Turn(seq=6, at=2.0, number=2, phase="end"),
            notification(7, "All is said."),
        ],
    )
    document = exported(talk)
    places = [document.index(t) for t in ("One failed", "One is stale", "Three.", "All is said")]
    assert places == sorted(places)


def notification(seq: int, text: str) -> SystemMessage:
    return SystemMessage(
        seq=seq,
        at=float(seq),
        system_type="notification",
        system_message=text,
        severity="info",
        metadata={},
    )


def test_what_was_written_before_the_answer_is_quoted_with_its_label() -> None:
    talk = Talk()
    told = talk.ask(outcome="completed", reason="completed", answer="It was so.")
    AgentRun.objects.filter(pk=told.run_id).update(behaviour="plan-then-do")
    said(
        told,
        [
            Turn(seq=1, at=1.0, number=1, phase="start", interim="Plan"),
            Content(seq=2, at=1.0, content="1. Look"),
            Turn(seq=3, at=1.0, number=2, phase="start"),
            Content(seq=4, at=1.0, content="It was so."),
        ],
    )
    document = exported(talk)
    assert "> **Plan, before the answer:**\n>\n> 1. Look\n\nIt was so.\n" in document
    assert document.count("It was so.") == 1
    (found,) = json.loads("".join(json_document(talk.now)))["exchanges"][1:]
    assert found["interim"] == [{"label": "Plan", "text": "1. Look"}]
    assert found["answer"] == "It was so."
