"""What a page that follows an answer is sent, against what a page that is opened now shows."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.core.chunks import Content, Done, OracleStreamChunk, Source, SourceRef, Thinking
from agents.core.reasons import REASONS
from chat.rendering import fragments
from chat.rendering.parts import NoticePart
from tests.agents.core.test_chunks import any_chunk
from tests.chat.run_chunks import (
    a_run,
    an_answer,
    called,
    cut,
    done,
    notice,
    reloaded,
    result,
    runs,
    stamped,
)
from tests.support.dom import Dom, Element, difference, frame_problems, read
from tests.support.shapes import SHAPES

OUTSIDE = '<div id="meters"></div>'


class Followed:
    """A page that was opened after some chunks of a run, and follows it from there."""

    def __init__(self, before: Sequence[OracleStreamChunk] = ()) -> None:
        self.answer = an_answer(before)
        self.run = a_run()
        self.seen = list(before)
        self.dom = Dom(fragments.render_answer(self.answer, self.run) + OUTSIDE)

    def take(self, chunks: Sequence[OracleStreamChunk]) -> str:
        for chunk in chunks:
            self.answer.apply(chunk)
        self.seen += chunks
        frame = fragments.render_update(self.answer, self.run)
        self.dom.apply(frame)
        return frame

    def assert_as_reloaded(self) -> None:
        shown, now = self.dom.get(self.answer.id), reloaded(self.seen).get(self.answer.id)
        assert difference(_settled(shown), _settled(now)) == ""


def _settled(shown: Element) -> Element:
    """Without what is still being written: its words are compared, not how they end."""
    copy = read(str(shown))
    for element in copy.walk():
        if element.id.endswith("-tail"):
            element.children = [" ".join(element.text.split())]
        if _heads_tools(element):  # known: see the test of the summary, below
            element.children = []
    return copy


def _heads_tools(element: Element) -> bool:
    return element.tag == "summary" and "tool call" in element.text


usual = settings(suppress_health_check=[HealthCheck.too_slow])
some = settings(usual, max_examples=usual.max_examples // 4)
few = settings(usual, max_examples=usual.max_examples // 20)


# -- live equals reload ---------------------------------------------------------------------------


@some
@given(st.data())
def test_a_page_shows_at_every_moment_what_a_page_opened_now_would(data: st.DataObject) -> None:
    page = Followed()
    for batch in data.draw(cut(data.draw(runs()))):
        page.take(batch)
        page.assert_as_reloaded()


@some
@given(st.data())
def test_a_page_opened_in_the_middle_of_a_run_ends_as_all_others(data: st.DataObject) -> None:
    chunks = data.draw(runs())
    middle = data.draw(st.integers(0, len(chunks)))
    page = Followed(chunks[:middle])
    for batch in data.draw(cut(chunks[middle:])):
        page.take(batch)
    page.assert_as_reloaded()


@few
@given(runs())
def test_a_page_opened_at_any_moment_ends_as_all_others(chunks: list[OracleStreamChunk]) -> None:
    for middle in range(len(chunks) + 1):
        page = Followed(chunks[:middle])
        page.take(chunks[middle:])
        page.assert_as_reloaded()


@usual
@given(st.lists(st.lists(any_chunk, max_size=4), max_size=4), st.booleans())
def test_chunks_in_no_order_at_all_are_shown_as_a_reload_shows_them(
    batches: list[list[OracleStreamChunk]], starts_with_text: bool
) -> None:
    page = Followed([Content(content="So: ")] if starts_with_text else [])
    for batch in batches:
        page.take([chunk for chunk in batch if not isinstance(chunk, Done)])
        page.assert_as_reloaded()


@some
@given(st.data())
def test_a_frame_that_comes_twice_changes_nothing(data: st.DataObject) -> None:
    page = Followed()
    for batch in data.draw(cut(data.draw(runs()))):
        frame = page.take(batch)
        before = page.dom.root.plain
        page.dom.apply(frame)
        assert page.dom.root.plain == before


@some
@given(st.data())
def test_every_frame_finds_its_places_on_the_page(data: st.DataObject) -> None:
    page = Followed()
    for batch in data.draw(cut(data.draw(runs()))):
        page.take(batch)
    assert page.dom.missed == []


@some
@given(runs())
def test_nothing_is_sent_when_nothing_is_new(chunks: list[OracleStreamChunk]) -> None:
    page = Followed(chunks)
    assert page.take([]) == ""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.ci] if number % 4 else [])
        for number, name in enumerate(SHAPES)
    ],
)
def test_a_page_that_follows_dear_markdown_shows_what_a_reload_shows(name: str) -> None:
    text, page = SHAPES[name](2_000), Followed()
    for at in range(0, len(text), 700):
        page.take([Content(content=text[at : at + 700])])
    page.take(stamped([notice()]))
    page.assert_as_reloaded()
    assert page.dom.missed == []


def test_the_pages_of_a_long_answer_are_the_answer() -> None:
    chunks = stamped([Thinking(content="Hm.\n\n" * 30), Content(content="So *it* is.\n\n" * 90),
                      notice(), Content(content="More.\n\n" * 50), done()])  # fmt: skip
    answer, run = an_answer(chunks), a_run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fragments, "PAGE_CHARS", 300)
        html, rest = fragments.render_paged_answer(answer, run)
    assert len(rest) > 10
    page = Dom(html)
    while more := [e for e in page.root.walk() if e.attributes.get("class") == "show-more"]:
        *_, part, block = more[0].elements[0].attributes["href"].strip("/").split("/")
        put_in(more[0], rest.pop(fragments.BlockRef(int(part), int(block))))
    assert rest == {}
    whole = Dom(fragments.render_answer(answer, run)).get(answer.id)
    assert difference(page.get(answer.id), whole) == ""


def put_in(place: Element, html: str) -> None:
    """As htmx swaps it: in the place of the button."""
    parent = place.parent
    assert parent is not None
    at = parent.children.index(place)
    fresh = read(html).children
    for child in fresh:
        if isinstance(child, Element):
            child.parent = parent
    parent.children[at : at + 1] = fresh


FOUR = [called(f"c{n}") for n in range(4)]


@pytest.mark.parametrize(
    "batches",
    [
        [[called("c0")], [called("c1")]],
        [[called("c0"), called("c0", "running")], [result("c0")]],
        [[*FOUR, notice()], [result(f"c{n}") for n in range(4)]],
        [[*FOUR, notice(), *(result(f"c{n}") for n in range(3))], [called("c3", "refused")]],
    ],
    ids=["another call", "a result", "a result after the group was folded", "a refusal folds it"],
)
def test_the_summary_of_tool_calls_goes_with_them(batches: list[list[OracleStreamChunk]]) -> None:
    page = Followed()
    for batch in batches:
        page.take(stamped(batch))
    live = [head.text for head in filter(_heads_tools, page.dom.root.walk())]
    now = [head.text for head in filter(_heads_tools, reloaded(page.seen).root.walk())]
    assert live == now


# -- one by one -----------------------------------------------------------------------------------


def words(page: Followed) -> str:
    return " ".join(page.dom.get(page.answer.id).text.split())


def test_closed_blocks_are_sent_once_and_the_open_one_only_where_it_must_be() -> None:
    page = Followed()
    page.take([Content(content="One.\n\nTwo")])
    grown = page.take([Content(content=" & more")])
    assert grown == "+3  & more"
    frame = page.take([Content(content=" *so*")])
    assert "One." not in frame
    assert "Two &amp; more <em>so</em>" in frame
    assert "One. Two & more so" in words(page)


def test_text_that_has_grown_is_counted_as_a_browser_counts() -> None:
    page = Followed()
    page.take([Content(content="a \U0001f30a wave")])
    assert page.take([Content(content=" more")]) == "+9  more"


def test_the_bytes_of_a_long_answer_grow_with_its_length_only() -> None:
    page = Followed()
    pieces = [f"Sentence number {n} of it. " + "\n\n" * (n % 7 == 6) for n in range(500)]
    sent = sum(len(page.take([Content(content=piece)])) for piece in pieces)
    whole = len(fragments.render_answer(page.answer, page.run))
    assert sent < 3 * whole


def test_the_last_block_of_a_text_stays_when_tools_follow_it() -> None:
    page = Followed([Content(content="Let me look.")])
    page.take(stamped([called("c0")]))
    assert words(page).startswith("Let me look.")
    assert not page.dom.has(f"{page.answer.id}-p0-tail")


def test_what_a_subagent_did_between_two_frames_has_its_place() -> None:
    page = Followed(stamped([called("c0", "running", name="delegate_librarian")]))
    page.take(stamped([called("c0/1", "running", parent="c0"), result("c0/1", parent="c0")]))
    assert page.dom.missed == []
    page.assert_as_reloaded()


def test_a_page_that_saw_an_unfinished_subagent_shows_afterwards_what_a_new_one_does() -> None:
    """One that is opened now reads events whose words were erased."""
    begun = called("c0", "running", name="delegate_librarian")
    source = Source(source=SourceRef("tide.md", "vault"), parent="c0")
    seen: list[OracleStreamChunk] = [called("c1", "running", parent="c0", query="tides"), source]
    page = Followed(stamped([begun]))
    page.take(stamped(seen))
    assert "tides" in words(page)
    page.take(stamped([result("c1", parent="c0"), result("c0", ok=False)]))
    assert "tide" not in str(page.dom.get(page.answer.id))
    assert "Unfinished work of a subagent was not kept." in words(page)
    assert page.dom.missed == []
    gone = replace(source, source=SourceRef("", "vault"))
    erased: list[OracleStreamChunk] = [begun, called("c1", "running", parent="c0"), gone]
    page.seen = stamped([*erased, result("c1", parent="c0", text=""), result("c0", ok=False)])
    page.assert_as_reloaded()


def test_thinking_says_how_long_it_took() -> None:
    page = Followed([Thinking(content="Hm.", at=10.0)])
    assert "Thinking" in words(page)
    page.take([Content(content="So.", at=18.2)])
    assert "Thought for 8 s" in words(page)


def test_a_run_that_reached_its_limit_offers_to_raise_it() -> None:
    page = Followed([Content(content="So far.")])
    page.take(
        stamped([notice("All iterations are used.", "limit_reached"), done("max_iterations")])
    )
    fields = {e.attributes.get("name"): e.attributes for e in page.dom.root.walk()}
    assert fields["run"]["value"] == str(page.answer.run_id)
    assert fields["limit"]["value"] == "max_iterations"
    assert (fields["value"]["value"], fields["value"]["max"]) == ("30", "50")


@pytest.mark.parametrize(
    ("system_type", "reason", "is_said"),
    [
        ("limit_reached", "max_iterations", False),
        ("error_limit", "error_limit", False),
        ("cancelled", "user_cancelled", True),
    ],
)
def test_the_notice_of_a_limit_says_itself_what_to_do(
    system_type: str, reason: str, is_said: bool
) -> None:
    page = Followed()
    page.take(stamped([notice("It ended. Correct it, then continue.", system_type), done(reason)]))
    assert (REASONS.get(reason).remedy in words(page)) is is_said


@pytest.mark.parametrize(
    ("message", "headline", "rest"),
    [
        (
            "`vault_read` failed: `There is no note 'Pump.md'. List the notes.` (3 times)",
            "Read note failed:",
            "<code>There is no note &#x27;Pump.md&#x27;. List the notes.</code> (3 times)",
        ),
        (
            "Failed calls (2): `a: b` failed: `No. Never.`; `c` failed: `<img>`",
            "Failed calls (2):",
            "<code>a: b</code> failed: <code>No. Never.</code>; "
            "<code>c</code> failed: <code>&lt;img&gt;</code>",
        ),
        ("`Pump. A.md` has changed.", "<code>Pump. A.md</code> has changed.", ""),
        ("It went well. {So} be it.", "It went well.", "{So} be it."),
        ("Only this", "Only this", ""),
        ("Plan\n1. Look\n2. Tell", "Plan", "1. Look\n2. Tell"),
    ],
)
def test_what_a_notification_quotes_stays_whole_and_is_shown_as_code(
    message: str, headline: str, rest: str
) -> None:
    part = an_answer(stamped([notice(message, "notification")])).parts[0]
    assert isinstance(part, NoticePart)
    assert (part.headline, part.rest) == (headline, rest)


def test_what_can_be_switched_off_folds_into_one_row_of_a_run() -> None:
    page = Followed()
    said: list[OracleStreamChunk] = [
        notice("The first. So.", "notification", subscriber="tool-failures"),
        Content(content="So."),
        notice("A reminder.", "notification", subscriber="reminders"),
        notice("The second. <i>", "notification", subscriber="source-stale"),
        notice("A limit is near.", "limit_warning"),
        notice("The third.", "notification", subscriber="self-notes"),
    ]
    for number, chunk in enumerate(stamped(said)):
        page.take([chunk])
        folded = [e for e in page.dom.root.walk() if e.tag == "details"]
        assert len(folded) == (number >= 3)
    text = " ".join(words(page).split())
    assert "3 noticesThe first. So.The second. <i>The third." in text
    assert text.count("System") == 3


def test_backticks_of_a_limits_notice_are_shown_as_they_are() -> None:
    page = Followed()
    page.take(stamped([notice("It repeats `<b>x</b> y`.", "loop_warning")]))
    assert "It repeats `<b>x</b> y`." in " ".join(words(page).split())


def test_a_run_that_was_stopped_offers_to_go_on_but_no_limit() -> None:
    page = Followed()
    page.take(stamped([notice("Stopped by you.", "cancelled"), done("user_cancelled")]))
    names = [e.attributes.get("name") for e in page.dom.root.walk() if e.tag == "input"]
    assert names == ["verb", "run"]


def test_a_run_that_completed_offers_nothing() -> None:
    page = Followed()
    page.take(stamped([notice(), Content(content="So."), done()]))
    assert not [e for e in page.dom.root.walk() if e.tag == "form"]


def test_a_running_answer_is_marked_so_and_an_ended_one_is_not() -> None:
    page = Followed([Content(content="So")])
    (live,) = [e for e in page.dom.root.walk() if "data-live" in e.attributes]
    assert live.attributes["data-live"] == str(page.answer.run_id)
    page.take(stamped([done()]))
    assert not [e for e in page.dom.root.walk() if "data-live" in e.attributes]


@pytest.mark.parametrize("reason", ["completed", "made_up_by_a_package"])
def test_the_end_says_why_and_what_it_took(reason: str) -> None:
    page = Followed()
    page.take(stamped([done(reason, tokens_used=12_345, usage_source="estimate")]))
    end = page.dom.get(f"{page.answer.id}-end").text
    for part in ("12,345 tokens (estimated)", "Iterations 2 / 15", "scripted"):
        assert part in end
    assert ("Completed" if reason == "completed" else reason) in end


def test_meters_warn_from_70_percent_on_and_more_from_90_on() -> None:
    tones = [
        fragments.UsageMeter("Iterations", "", percent).css_class
        for percent in (0, 69, 70, 89, 90, 100)
    ]
    assert tones == ["", "", "amber", "amber", "high", "high"]


def test_a_source_is_cited_once_with_its_line_and_a_link() -> None:
    note = SourceRef("plan/a b.md", "vault", 12_345, "so it is")
    page = Followed()
    page.take([Source(source=s) for s in (note, note, SourceRef("code/x.py", "code", 3))])
    links = [e.attributes["href"] for e in page.dom.root.walk() if "href" in e.attributes]
    assert links == [
        "/notes/87654321-1234-5678-1234-567812345678/plan/a%20b.md?line=12345#L12345",
        "/code/87654321-1234-5678-1234-567812345678/code/x.py#L3",
    ]
    assert "2 sources" in words(page)
    assert "plan/a b.md:12345" in words(page)


def test_a_page_of_the_web_is_a_link_that_tells_it_nothing_and_only_if_it_is_one() -> None:
    page = Followed()
    page.take([Source(source=SourceRef("https://docs.example/a?b=c", "web"))])
    (link,) = [e for e in page.dom.root.walk() if "href" in e.attributes]
    assert link.attributes["href"] == "https://docs.example/a?b=c"
    assert "noreferrer" in link.attributes["rel"].split()
    page = Followed()
    page.take([Source(source=SourceRef("javascript:alert(1)", "web"))])
    assert not [e for e in page.dom.root.walk() if "href" in e.attributes]


@pytest.mark.parametrize("path", ["/etc/x.md", "../x.md", "a/../../x.md", "x.py", "", ".md/x"])
def test_what_is_no_note_of_the_project_is_not_linked(path: str) -> None:
    page = Followed()
    page.take([Source(source=SourceRef(path, "vault"))])
    assert not [e for e in page.dom.root.walk() if "href" in e.attributes]


def test_a_source_whose_path_has_a_line_break_is_shown_without_a_link() -> None:
    page = Followed()
    page.take([Source(source=SourceRef("a\nb.md", "vault"))])
    assert "a b.md" in words(page)


def test_what_stands_at_the_top_of_a_frame_has_a_place_to_go() -> None:
    assert frame_problems("words<p>x</p><p id='a'></p>") == [
        "text at the top: 'words'",
        "<p>x</p> has no target",
    ]
