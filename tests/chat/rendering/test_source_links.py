"""Where what an answer cites is shown: lines of notes and code, entries of threads."""

from uuid import UUID

import pytest

from agents.core.answer_sources import AnswerSources, get_citation_name
from agents.core.chunks import Source, SourceRef
from chat.markdown import render
from chat.rendering.source_links import get_address, name_place, source_linker
from tests.chat.run_chunks import an_answer

PROJECT = UUID(int=7)


def cite(text: str) -> str:
    return "".join(render(text, source_linker(PROJECT)))


def test_a_cited_entry_is_a_link_to_it() -> None:
    html = cite("So it was decided [thread:power supply#3].")
    assert f'href="/threads/{PROJECT}/power%20supply?entry=3#entry-3"' in html
    assert ">thread:power supply#3</a>" in html
    assert f'href="/threads/{PROJECT}/power"' in cite("See [thread:power].")


@pytest.mark.parametrize(
    "name",
    [
        *("a&b", "what?", "100 %", "名前", "a:3", "a b.md", "*x*", "<img src=x onerror=y>"),
        *("👩\u200d💻 team", "10\u00a0km", "har\u00adbour"),
    ],
)
def test_an_odd_name_is_linked_as_it_is(name: str) -> None:
    html = cite(f"[thread:{name}#2]")
    assert f'href="/threads/{PROJECT}/' in html
    assert "?entry=2#entry-2" in html
    assert "<img" not in html


@pytest.mark.parametrize("name", ["", " ", ".", "..", "a/b", "../x", "\u202e", "a\x1bb"])
def test_what_no_thread_can_be_called_stays_text(name: str) -> None:
    assert "href" not in cite(f"[thread:{name}#2]")


def test_a_name_is_linked_without_marks_that_turn_the_text_around() -> None:
    html = cite("[thread:a\u202eb#2]")
    assert f'href="/threads/{PROJECT}/ab?entry=2#entry-2"' in html


def test_a_note_and_a_thread_of_one_name_are_two_sources() -> None:
    sources = AnswerSources()
    for kind in ("vault", "thread"):
        sources.apply(Source(source=SourceRef("plan.md", kind, 3)))
    assert [name_place(each) for each in sources] == ["plan.md:3", "plan.md#3"]
    assert [get_citation_name(each) for each in sources] == ["plan.md", "thread:plan.md"]


def test_an_entry_among_the_sources_is_a_link() -> None:
    answer = an_answer()
    answer.apply(Source(source=SourceRef("power", "thread", 3, "We take LFP.")))
    assert [name_place(each) for each in answer.sources] == ["power#3"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (SourceRef("https://docs.example/t?x=1", "web", heading="Tides"), "Tides (docs.example)"),
        (SourceRef("https://docs.example/", "web", heading="\u202eTides"), "Tides (docs.example)"),
        (SourceRef("https://docs.example/t", "web"), "https://docs.example/t"),
        (SourceRef("https://[::1", "web", heading="Tides"), "Tides (https://[::1)"),
    ],
)
def test_a_page_of_the_web_is_named_by_its_title_and_host(source: SourceRef, name: str) -> None:
    assert name_place(source) == name
    long = name_place(SourceRef("https://docs.example/" + "x" * 500, "web"))
    assert len(long) == 120
    assert long.endswith("…")


@pytest.mark.parametrize(
    ("cited", "address"),
    [
        ("src/gauge.py:12", "src/gauge.py#L12"),
        ("src/a b.ts:401", "src/a%20b.ts?line=401#L401"),
        ("setup.toml", "setup.toml"),
        ("Makefile:3", "Makefile#L3"),
    ],
)
def test_cited_code_is_a_link_to_its_line(cited: str, address: str) -> None:
    assert f'href="/code/{PROJECT}/{address}"' in cite(f"It is read there [{cited}].")


@pytest.mark.parametrize(
    "cited",
    ["example.com:443", "10:30", "go:3", "LICENSE:3", "../x.py:1", "/etc/x.py:3", "a//b.py"],
)
def test_what_cannot_be_told_to_be_code_stays_text(cited: str) -> None:
    assert "href" not in cite(f"See [{cited}].")


@pytest.mark.parametrize("path", ["Makefile", "src/LICENSE", "a.py", "<b>.js"])
def test_a_source_of_code_is_a_link_whatever_it_is_called(path: str) -> None:
    address = get_address(PROJECT, SourceRef(path, "code", 3))
    assert address is not None
    assert address.startswith(f"/code/{PROJECT}/")
    assert address.endswith("#L3")
    assert get_address(PROJECT, SourceRef("../x.py", "code", 3)) is None
