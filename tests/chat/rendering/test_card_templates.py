"""A tool is shown by its own card, if its package has one."""

from typing import Any

import pytest

from agents.core.chunks import CallView, ToolCalled, ToolResult
from chat.rendering.answer import AnswerView
from chat.rendering.card_templates import get_card_template, has_own_card
from chat.rendering.fragments import render_answer, render_update
from tests.chat.run_chunks import RUN, a_run, an_answer

CLAIM: dict[str, Any] = {"claim": "Ada <leads>.", "sources": ["a.md", "b.md"]}


def called(name: str = "check_claim", status: Any = "running", parent: str = "") -> ToolCalled:
    return ToolCalled(tool_call=CallView("c", name, CLAIM, status), parent=parent)


def result(parent: str = "") -> ToolResult:
    return ToolResult(
        tool_call_id="c", tool_result="Two.", ok=True, duration_ms=5, order=0, parent=parent
    )


def render(*chunks: Any) -> str:
    answer = AnswerView(RUN)
    for chunk in chunks:
        answer.apply(chunk)
    return render_answer(answer, a_run())


def test_the_card_that_a_tool_brings_shows_its_calls() -> None:
    html = render(called())
    assert '<q class="tool-gist">Ada &lt;leads&gt;.</q>' in html
    assert '<span class="tool-name">Claim</span>' in html
    assert '<span class="chip">Running' in html


def test_such_a_card_can_show_the_result() -> None:
    assert '<p class="muted">Two.</p>' in render(called(), result())


def test_it_comes_in_frames_as_it_is_on_the_page() -> None:
    answer = an_answer([called(status="pending")])
    answer.apply(called())
    frame = render_update(answer, a_run())
    assert frame.startswith("<details")
    assert frame in render(called())


def test_a_call_of_a_subagent_has_it_too() -> None:
    outer = ToolCalled(tool_call=CallView("o", "delegate_librarian", {}, "running"))
    assert '<q class="tool-gist">Ada' in render(outer, called(parent="o"))


@pytest.mark.parametrize("name", ["calculate", "no_such_tool", "../fragments/_call", "", "a\0b"])
def test_other_tools_and_names_that_a_model_made_up_share_one_card(name: str) -> None:
    assert not has_own_card(name)
    assert get_card_template(name).name == "chat/fragments/_card.html"
    assert '<span class="tool-gist">claim: Ada' in render(called(name))


def test_what_the_shared_card_does_not_show_is_not_kept() -> None:
    answer = AnswerView(RUN)
    for chunk in (called("calculate"), result()):
        answer.apply(chunk)
    (card,) = answer.parts[0].cards  # type: ignore[union-attr]
    assert (card.arguments, card.result) == ("", "")


PAGE = """Page: https://docs.example/tides
Title: <Tides>
Quoted from outside.
> # Tides
> <script>alert(1)</script>
Left out: the last 9 of 99 characters of the page. For more, ask with max_tokens up to 4,000."""


def fetched(text: str, arguments: Any = None) -> str:
    """The card of a call that has come back."""
    view = CallView("c", "web_fetch", arguments or {"url": "https://docs.example/t"}, "running")
    ended = ToolResult(tool_call_id="c", tool_result=text, ok=True, duration_ms=5, order=0)
    return render(ToolCalled(tool_call=view), ended)


def test_the_card_of_a_web_page_shows_its_host_title_link_and_text() -> None:
    html = fetched(PAGE)
    assert '<span class="tool-gist">docs.example</span>' in html
    assert 'href="https://docs.example/tides" target="_blank" rel="noopener noreferrer' in html
    assert ">&lt;Tides&gt;</a>" in html
    assert "# Tides\n&lt;script&gt;alert(1)&lt;/script&gt;</blockquote>" in html
    assert '<p class="web-address muted">https://docs.example/tides</p>' in html
    assert "The model was not given the last 9 of 99 characters of the page.</p>" in html


def test_the_card_of_a_page_without_a_title_is_headed_by_its_host() -> None:
    html = fetched(f"Page: https://docs.example/{'x' * 200}\nTitle: \n> Tides")
    assert ">docs.example</a>" in html
    assert f'<p class="web-address muted">https://docs.example/{"x" * 200}</p>' in html


@pytest.mark.parametrize("arguments", ["no JSON", {"url": 3}, {"url": "http://[::1"}, {"x": "y"}])
def test_the_card_of_a_web_page_takes_any_arguments_and_any_result(arguments: Any) -> None:
    assert "Refused: &lt;no&gt;" in fetched("Refused: <no>", arguments)
    assert 'href="javascript' not in fetched("Page: javascript:alert(1)\n> x", arguments)
