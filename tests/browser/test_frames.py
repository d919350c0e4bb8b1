"""Frames in a real browser: at every moment the page has what the server has, however text is cut.

The test stands in for the server behind the page's socket, so that every frame can be looked at.
"""

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Route, WebSocketRoute

from agents.core.chunks import Content
from chat.rendering import fragments
from chat.rendering.parts import TextPart
from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Tab, Visitor
from tests.browser.test_hostile import looked_at
from tests.chat.run_chunks import a_run, an_answer
from tests.support.hostile import COLLECTIONS
from tests.support.long import long_answer
from tests.support.script import call, say

SAME = """
(html) => {
  const known = document.createElement("div"), shown = document.createElement("div");
  known.innerHTML = html;
  shown.append(...document.querySelector("[id$=-tail]").cloneNode(true).childNodes);
  for (const e of shown.querySelectorAll(".code-head > button")) e.remove();  // the page's own
  known.normalize();
  shown.normalize();
  return known.isEqualNode(shown) ? "" : shown.innerHTML;
}
"""
MARKDOWN = """\
# Title

Words with *emphasis*, **strong _and_ more**, `code` and ~~gone~~ [a link](https://a.example/?b=1&c).
A second line with https://a.example/x and a [[people.md]] note & <b>no HTML</b>.

- one
- two with `code`
  - inner **item**
  - another

  loose paragraph in an item
- [x] done
- [ ] open

3. three
4. four
   > quoted in an item

| left | right | \N{WATER WAVE} |
|:--|--:|:-:|
| a `b` | **c** | d |
| e | f | \u05e9\u05dc\u05d5\u05dd |

> quote *one*
> goes on
>> deeper

```python
def f(x):
    return "<b>" + x
```

Last words\N{ZERO WIDTH JOINER}, and an unclosed **mark"""


class Stage:
    """A page whose socket is held by the test, with an answer that grows."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self._sockets: list[WebSocketRoute] = []
        tab.page.route_web_socket(re.compile("/ws/"), self._opened)
        tab.go()
        self.run = a_run()
        self.answer = an_answer([Content(content="Begun.\n\n", seq=1)])
        whole = fragments.render_answer(self.answer, self.run)
        self.send(f'<div hx-swap-oob="beforeend:#thread">{whole}</div>')

    def _opened(self, socket: WebSocketRoute) -> None:
        self._sockets.append(socket)

    def send(self, frame: str) -> None:
        self._sockets[-1].send(frame)

    def takes(self, text: str) -> None:
        """More of the answer; the page has then what the server has."""
        self.answer.apply(Content(content=text, seq=self.answer.last_seq + 1))
        frame = fragments.render_update(self.answer, self.run)
        self.send(frame)
        part = self.answer.parts[-1]
        assert isinstance(part, TextPart)
        for _ in range(50):  # the frame and the question come by different ways
            if not (shown := self.tab.page.evaluate(SAME, part.tail)):
                return
        raise AssertionError(f"after {frame!r} the page shows {shown!r}, not {part.tail!r}")


def pieces(text: str, sizes: Sequence[int]) -> Iterator[str]:
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        yield text[at : at + size]
        at, turn = at + size, turn + 1


@pytest.mark.parametrize(
    "sizes",
    [*(pytest.param((size,), marks=pytest.mark.ci) for size in (1, 7)), (2, 11, 3, 29)],
    ids=str,
)
def test_a_page_has_at_every_moment_what_the_server_has(
    sizes: tuple[int, ...], visitor: Visitor, ada: Person
) -> None:
    stage = Stage(visitor.enters(ada))
    for piece in pieces(f"{MARKDOWN}\n\n{long_answer()[:800]}", sizes):
        stage.takes(piece)


@pytest.mark.ci
@pytest.mark.parametrize("collection", COLLECTIONS)
def test_hostile_answers_are_text_in_every_split(
    collection: str, visitor: Visitor, ada: Person
) -> None:
    stage = Stage(visitor.enters(ada))
    short = sorted((p for p in COLLECTIONS[collection]() if 8 < len(p) < 60), key=len)
    for payload in short[:: max(1, len(short) // 5)]:
        for split in range(1, len(payload)):
            stage.takes(payload[:split])
            stage.takes(payload[split:] + "\n\n")
        looked_at(stage.tab)


# -- frames that come again -----------------------------------------------------------------------


class Relay:
    """The page's socket to the real server, over which more can be sent."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        tab.page.route_web_socket(re.compile("/ws/"), self._opened)

    def _opened(self, socket: WebSocketRoute) -> None:
        self._page = socket
        socket.connect_to_server()

    def send(self, frame: str) -> None:
        """Send a frame, and wait until the page has it."""
        self.tab.page.evaluate(
            "window.again = false;"
            "addEventListener('htmx:wsAfterMessage', () => { window.again = true; }, {once: true})"
        )
        self._page.send(frame)
        self.tab.page.wait_for_function("window.again")


STORED = """async () => {
  const page = new DOMParser().parseFromString(await (await fetch("")).text(), "text/html");
  return ["", " .answer-end"].map((part) => page.querySelector(".exchange" + part).outerHTML);
}"""
"""What a page would be sent again: the only exchange, and the end of its answer."""


def test_an_end_that_comes_again_keeps_the_answer_to_undo(visitor: Visitor, ada: Person) -> None:
    ada.plays(call("vault_write", path="Pumps.md", body="# Pumps\n"), say("Written."))
    tab = visitor.enters(ada)
    relay, held = Relay(tab), list[Route]()
    tab.page.route(re.compile("/undo/"), lambda route: held.append(route))
    tab.go("/new/").ask("Write that down.").ended()
    exchange, end = tab.page.evaluate(STORED)
    with tab.page.expect_request(re.compile("/undo/")):
        tab.last.get_by_role("button", name="Undo 1 change").click()
    relay.send(end)
    relay.send(f'<div hx-swap-oob="beforeend:#thread">{exchange}</div>')
    held[0].continue_()
    expect(tab.last.locator(".answer-end")).to_contain_text("1 change undone.")
