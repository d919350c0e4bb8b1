"""Hostile text in every place that somebody else's text comes to: it stays text.

What templates put on a page with harmless words is what they put there with any words: the same
elements with the same attributes. Only Markdown makes elements of its own, of a few kinds.
"""

import random
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.core.chunks import (
    CallView,
    Content,
    Error,
    OracleStreamChunk,
    Source,
    SourceRef,
    Thinking,
    ToolCalled,
)
from agents.core.config import AgentConfig
from agents.models import AgentRun
from chat.conversations.tree import Position
from chat.models import Conversation, Exchange
from chat.rendering import fragments
from chat.rendering.answer import AnswerView
from chat.rendering.source_links import source_linker
from chat.rendering.tool_call import StoredToolCall
from tests.chat.factories import Talk, grown
from tests.chat.rendering.test_fragments import Followed
from tests.chat.run_chunks import PROJECT, RUN, a_run, done, notice, reloaded, result, stamped
from tests.support.dom import Dom, Element, read
from tests.support.hostile import COLLECTIONS

MARKDOWN = {
    "a": {"href", "target", "rel", "class"},
    "blockquote": set(), "br": set(), "code": {"class"}, "div": {"class", "tabindex"}, "em": set(),
    "h3": {"class"}, "h4": {"class"}, "h5": {"class"}, "h6": {"class"}, "hr": set(),
    "li": {"class"}, "ol": {"start", "class"}, "p": {"class"}, "pre": {"tabindex"}, "s": set(),
    "span": {"class"}, "strong": set(), "table": {"class"}, "tbody": set(), "td": {"class"},
    "th": {"class"}, "thead": set(), "tr": set(), "ul": {"class"},
}  # fmt: skip
"""Elements that Markdown may make, with their attributes. Never id, style, hx-*, ws-*, data-*."""
CLASS = re.compile(
    r"cite|code|code-head|more|plain|table|task|open|center|left|right|language-[\w+#.-]+|[a-z][a-z0-9]?"
)
SCHEME = re.compile(r"[\x00-\x20]*([a-z][a-z0-9+.\-\s]*):", re.IGNORECASE)

collections = pytest.mark.parametrize("name", COLLECTIONS)
shares = pytest.mark.parametrize(
    "every", [16, pytest.param(1, marks=pytest.mark.ci)], ids=["some", "all"]
)
"""Of what others collected `make test` takes one in so many; of ours always all."""


def payloads(name: str, every: int = 1) -> Iterator[str]:
    """Each that can be seen: an empty field is another thing than a filled one."""
    seen = (text for text in COLLECTIONS[name]() if text.strip())
    return seen if name == "ours" else islice(seen, 0, None, every)


# -- what is allowed ------------------------------------------------------------------------------


def markdown_problems(block: Element) -> list[str]:
    """What should not be in text of the model."""
    found = []
    for element in block.walk():
        allowed = MARKDOWN.get(element.tag)
        if allowed is None or not set(element.attributes) <= allowed:
            found.append(str(element))
        classes = element.attributes.get("class", "").split()
        found += [f"class {one}" for one in classes if not CLASS.fullmatch(one)]
        scheme = SCHEME.match(element.attributes.get("href", ""))
        if scheme and scheme[1].lower() not in ("http", "https", "mailto"):
            found.append(f"a link to {element.attributes['href']}")
    return found


def is_block(element: Element) -> bool:
    return bool(re.search(r"-(?:b\d+|tail)\Z", element.id))


def explained(page: Element) -> list[Element]:
    """The blocks of the explanation: the first ones of the end."""
    ends = [e for e in page.walk() if e.id.endswith("-end")]
    return [block for end in ends for div in end.elements[:1] if div.tag == "div"
            for block in div.elements]  # fmt: skip


def skeleton(html: str) -> list[tuple[str, tuple[str, ...]]]:
    """Elements and the names of their attributes, once Markdown has been looked at and left out."""
    page = read(html)
    for block in [*filter(is_block, page.walk()), *explained(page)]:
        assert markdown_problems(block) == []
        block.remove()
    return [(e.tag, tuple(e.attributes)) for e in page.walk()]


def assert_same_page(made: Callable[[str], str], text: str) -> None:
    assert skeleton(made(text)) == skeleton(made("plain")), text


# -- answers --------------------------------------------------------------------------------------


def file_name(text: str) -> str:
    """As much of it as a note may be called, so that it is linked."""
    return "".join(c for c in text if c.isprintable() and c != "/") + ".md"


def hostile_run(text: str) -> list[OracleStreamChunk]:
    """A run whose every word is the same text."""
    view = CallView("c0", text, {"a": text, text: "b"}, "running")
    inner = CallView("c1", text, text, "refused")
    return stamped(
        [
            Thinking(content=text),
            Content(content=text),
            ToolCalled(tool_call=view),
            ToolCalled(tool_call=inner, parent="c0"),
            result("c1", ok=False, parent="c0", text=text),
            result("c0", text=text),
            Source(source=SourceRef(text + ".txt", "vault", 3, text)),
            Source(source=SourceRef(file_name(text), "vault", 3, text)),
            notice(text),
            Error(code=text, error=text + "!"),
            done("max_iterations", model_used=text, explanation=text),
        ]
    )


def shown_answer(text: str) -> str:
    run = a_run(question=text, model=text)
    answer = AnswerView(RUN, source_linker(PROJECT))
    for chunk in hostile_run(text):
        answer.apply(chunk)
    exchange = Exchange(pk=UUID(int=1), run=run)
    html = fragments.render_exchange(
        exchange, Position(1, 1, None, None), fragments.render_answer(answer, run)
    )
    title = fragments.render("title", title=text) + fragments.render("flash", text=text)
    ack = fragments.render("ack", message=text, url="/c/") + fragments.render("announce", text=text)
    return html + title + ack + _details(text, run)


def _details(text: str, run: Any) -> str:
    """What a card opens to. `text` both as arguments and as what came back."""
    call = StoredToolCall(CallView("c0", text, {text: text}, "running"), result("c0", text=text))
    return fragments.render("call", call=call, run=run, number=0, whole=False)


@shares
@collections
def test_hostile_text_makes_no_element_in_an_answer(name: str, every: int) -> None:
    expected = skeleton(shown_answer("plain"))
    for text in payloads(name, every):
        assert skeleton(shown_answer(text)) == expected, text


@collections
def test_hostile_text_in_pieces_makes_no_element_in_any_frame(name: str) -> None:
    chance = random.Random(name)
    sample = list(payloads(name))
    for text in chance.sample(sample, min(8, len(sample))):
        cuts = sorted(chance.sample(range(len(text) + 1), min(6, len(text))))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        page = Followed()
        for piece in pieces:
            for chunk in (Thinking(content=piece), Content(content=piece)):
                page.take([chunk])
                skeleton(str(page.dom))
        page.assert_as_reloaded()


def test_hostile_text_of_ours_is_harmless_wherever_it_is_cut() -> None:
    for text in payloads("ours"):
        for place in range(len(text) + 1):
            page = Followed()
            page.take([Content(content=text[:place])])
            page.take([Content(content=text[place:])])
            skeleton(str(page.dom))
            assert page.dom.get(page.answer.id).tag == "div"


def test_the_words_of_a_call_are_shown_as_they_are() -> None:
    for text in payloads("ours"):
        page = reloaded(hostile_run(text))
        assert " ".join(text.split())[:30].replace("\x00", "") in page.text.replace("\x00", "")


# -- pages ----------------------------------------------------------------------------------------


def page_of(user: User, address: str) -> str:
    client = Client()
    client.force_login(user)
    response = client.get(address, secure=True)
    assert response.status_code == 200, address
    return response.content.decode()


def crowd(talk: Talk, texts: list[str]) -> None:
    """Many titles, many questions, a label, a name: all of them these."""
    User.objects.filter(pk=talk.user.pk).update(username=texts[0][:150])
    exchanges = list(Exchange.objects.select_related("run").order_by("created_at", "id"))
    for exchange, text in zip(exchanges, texts, strict=False):
        exchange.run.question = exchange.run.answer = exchange.run.model = text
        exchange.run.save(update_fields=["question", "answer", "model"])
        exchange.label = text[:200]
        exchange.save(update_fields=["label"])
    Conversation.objects.filter(pk=talk.id).update(title=texts[-1][:200])


def addresses(talk: Talk) -> list[str]:
    mine = f"/c/{talk.id}/"
    return [mine, f"{mine}outline/", "/runs/", "/conversations/", "/search/?q=e", "/new/"]


@pytest.mark.django_db
@shares
@pytest.mark.parametrize("name", ["ours", "xss_rsnake", "blns"])
def test_hostile_text_makes_no_element_on_a_page(name: str, every: int) -> None:
    talk = Talk()
    grown(talk, 30)
    AgentRun.objects.update(config=AgentConfig().model_dump())
    many = [text.replace("\x00", "") for text in payloads(name, every)]
    rows = [many[n : n + 30] for n in range(0, min(len(many), 120 // every), 30)]
    for address in addresses(talk):
        crowd(talk, ["plain e"] * 30)
        expected = skeleton(page_of(talk.user, address))
        for texts in rows:
            crowd(talk, [f"{text} e" for text in (texts * 30)[:30]])
            assert skeleton(page_of(talk.user, address)) == expected, address


@pytest.mark.django_db
@shares
@collections
def test_hostile_words_are_searched_for_and_shown(name: str, every: int) -> None:
    talk = Talk()
    client = Client()
    client.force_login(talk.user)
    for text in list(payloads(name, every))[: 40 // every]:
        response = client.get("/search/", {"q": text}, secure=True)
        assert response.status_code == 200
        tags = {e.tag for e in Dom(response.content.decode()).root.walk()}
        assert not tags & {"img", "iframe", "object", "embed", "style", "b"}, text


@pytest.mark.django_db
@shares
@collections
def test_a_conversation_may_be_called_anything(name: str, every: int) -> None:
    talk = Talk()
    client = Client()
    client.force_login(talk.user)
    for text in list(payloads(name, every))[: 40 // every]:
        Conversation.objects.update(title=text.replace("\x00", "")[:200])
        response = client.get(f"/c/{talk.id}/export.xyz", secure=True)
        assert response.status_code == 404
        html = client.post(f"/c/{talk.id}/delete/", secure=True).content.decode()
        Conversation.all_objects.update(deleted_at=None)
        assert not {e.tag for e in Dom(html).root.walk()} & {"script", "img", "iframe"}, text
