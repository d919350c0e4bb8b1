"""Acceptance scenarios of the user stories that `docs/conformance.md` quotes, by their numbers.

The first story is about the settings page (test_settings.py), the fourth about decision trees,
which no browser shows (tests/agents/core/decisions/test_third_party_tree.py and
loop/test_trees.py have it).
"""

import json
import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Locator

from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Tab, Visitor
from tests.support.script import Call, Reply, call, calls, is_tool_free, say, when_tool_free
from tests.support.threaded_endpoint import Held

PATHS = ("index.md", "people.md", "questions.md", "plan/budget.md", "plan/roadmap.md",
         "ops/alarm-runbook.md", "data/platform.md", "hardware/gauge.md")  # fmt: skip


def reading(number: int) -> Reply:
    """An iteration that reads one note, another one for each number."""
    return call("vault_read", path=PATHS[number])


def test_us2_1_a_system_message_appears_at_seventy_percent_of_the_turns(
    visitor: Visitor, ada: Person
) -> None:
    ada.limits(max_iterations=10)
    ada.plays(*map(reading, range(7)), say("Seven notes read."))
    tab = visitor.enters(ada).ask("Read a lot.").ended("completed")
    warning = tab.notices("limit_warning")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text("System")
    expect(warning).to_contain_text("Approaching iteration limit (7/10)")
    assert "(7/10)" in str(ada.requests[7].body["messages"][-1])  # the model is told too
    assert "(7/10)" not in str(ada.requests[6].body["messages"])


def test_us2_2_a_system_message_with_token_usage_appears_in_time_to_act_on_it(
    visitor: Visitor, ada: Person
) -> None:
    """Each prompt is larger than the one before: two notes more. Between the message and the
    wrap-up lies an iteration with tools in which the model has been told."""
    ada.limits(token_budget=50_000, max_iterations=50)
    pairs = [(first, second) for first in PATHS for second in PATHS if first < second]
    steps = [calls(*(Call("vault_read", {"path": path}) for path in pair)) for pair in pairs]
    final = say("This is what the notes say.")
    ada.plays(*(when_tool_free(final, otherwise=step) for step in steps), unused_ok=True)
    tab = visitor.enters(ada).ask("Compare all notes.").ended("limited")
    tab.shows("This is what the notes say.")
    warning = tab.notices("limit_warning")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text(re.compile(r"[\d,]+/50,000"))
    expect(tab.notices("limit_reached")).to_have_count(1)
    run = ada.run()
    assert run["reason"] == "token_budget"
    chunks = run["chunks"]
    warned = next(n for n, c in enumerate(chunks) if c.get("system_type") == "limit_warning")
    metadata = chunks[warned]["metadata"]
    assert (metadata["limit_type"], metadata["limit_value"]) == ("tokens", 50_000)
    wrap_up = next(n for n, c in enumerate(chunks) if c["type"] == "turn" and c.get("wrap_up"))
    between = [c for c in chunks[warned:wrap_up] if c["type"] in ("turn", "tool_result")]
    assert [c["type"] for c in between if c["type"] == "tool_result" and c["ok"]]
    told = [number for number, r in enumerate(ada.requests) if warned_of(r.body)]
    assert told
    assert not is_tool_free(ada.requests[told[0]].body)


def warned_of(body: dict[str, Any]) -> bool:
    """Whether the model is told of its tokens with what it was sent last."""
    return "Approaching token limit" in str(body["messages"][-1]["content"])


def test_us2_3_at_the_limit_everything_is_kept_and_explained_inline(
    visitor: Visitor, ada: Person
) -> None:
    ada.limits(max_iterations=2)
    first = calls(Call("vault_read", {"path": "people.md"}), text="First I read who is there.")
    ada.plays(first, say("Mara leads it; the rest is missing."))
    tab = visitor.enters(ada).ask("Who leads it, and since when?").ended("limited")
    tab.shows("First I read who is there.").shows("Mara leads it; the rest is missing.")
    explanation = tab.last.locator(".explanation")
    expect(explanation).to_contain_text("Iteration limit")
    expect(explanation).to_contain_text("2 of 2 iterations")
    expect(explanation).to_contain_text("Read note")
    assert is_tool_free(ada.requests[-1].body)
    live = tab.thread_html()
    assert tab.reload().thread_html() == live


@pytest.mark.ci
def test_us2_4_and_whichever_limit_is_hit_first_wins_unfinished_work_of_a_subagent_is_not_kept(
    visitor: Visitor, ada: Person
) -> None:
    """Also the edge case of limits that conflict: time is over long before the tokens are."""
    ada.limits(timeout_seconds=10, token_budget=200_000)
    gate = ada.gate()
    ada.plays(
        calls(Call("delegate_librarian", {"task": "Read all"}), text="I let it be read."),
        when_tool_free(say("No summary came in time."), otherwise=call("vault_list")),
    )
    ada.librarian_plays(Held(text="half-a-summary, the-rest", pieces=[14], gate=gate))
    tab = visitor.enters(ada).ask("Summarise everything.")
    expect(tab.tools("running")).to_have_count(1)
    ada.until_stored("half-a-summary")  # whoever follows the run may see it
    expect(tab.notices("limit_warning").first).to_contain_text("time")
    expect(tab.last.locator(".badge.limited")).to_be_visible()
    tab.ended("limited").shows("I let it be read.").shows("No summary came in time.")
    run = ada.run()
    assert run["reason"] == "timeout"
    of_subagent = [row for row in run["rows"] if "parent" in row["data"]]
    assert {"turn", "content"} <= {row["kind"] for row in of_subagent}
    assert {row["content"] for row in of_subagent} == {""}
    assert "half-a-summary" not in json.dumps(run)  # columns, rows, and the chunks read from them
    live = tab.thread_html()
    assert tab.reload().thread_html() == live
    assert "half-a-summary" not in tab.page.content()
    tab.tools("unknown").locator("summary").click()
    expect(tab.tools("unknown")).to_contain_text("Unfinished work of a subagent was not kept.")


# -- US3: intelligent termination -----------------------------------------------------------------


def test_us3_1_a_complete_answer_ends_the_run_with_no_further_turn(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(say("Four."))
    tab = visitor.enters(ada).ask("Two and two?").ended("completed")
    assert len(ada.requests) == 1
    expect(tab.last.locator(".meta")).to_contain_text("Iterations 1 / 15")
    expect(tab.notices()).to_have_count(0)


def test_us3_2_three_identical_calls_with_identical_results_end_as_no_progress_and_explain(
    visitor: Visitor, ada: Person
) -> None:
    again = call("vault_search", queries=["kraken"])
    ada.plays(again, again, again, say("There is no kraken in the notes."))
    tab = visitor.enters(ada).ask("Where is the kraken?").ended("limited")
    expect(tab.notices("no_progress")).to_contain_text("vault_search")
    expect(tab.last.locator(".explanation")).to_contain_text("kraken")
    tab.shows("There is no kraken in the notes.")
    run = ada.run()
    assert (run["reason"], len(ada.requests)) == ("no_progress", 4)


def test_us3_3_three_tool_errors_end_with_what_was_found_and_a_summary_of_the_errors(
    visitor: Visitor, ada: Person
) -> None:
    """Call by call: a note that is there, then three that are not, over two iterations."""
    first = calls(
        Call("vault_read", {"path": "people.md"}),
        Call("vault_read", {"path": "missing-0.md"}),
        text="I try some paths.",
    )
    second = calls(*(Call("vault_read", {"path": f"missing-{n}.md"}) for n in (1, 2)))
    ada.plays(first, second, say("None of these notes exist."))
    tab = visitor.enters(ada).ask("Read four notes.").ended("limited")
    expect(tab.tools("failed")).to_have_count(3)
    expect(tab.notices("error_limit")).to_have_count(1)
    tab.shows("I try some paths.").shows("None of these notes exist.")
    for number in range(3):
        expect(tab.last.locator(".explanation")).to_contain_text(f"missing-{number}.md")
    assert ada.run()["reason"] == "error_limit"


# -- US5: the system in the chat ------------------------------------------------------------------


AMBER: dict[Literal["light", "dark"], dict[str, str]] = {
    "light": {
        "background": "rgb(255, 244, 220)",
        "ink": "rgb(122, 62, 0)",
        "line": "rgb(180, 83, 9)",
    },
    "dark": {
        "background": "rgb(44, 32, 8)",
        "ink": "rgb(255, 213, 145)",
        "line": "rgb(217, 144, 47)",
    },
}
"""The amber of the design: #fff4dc, #7a3e00, #b45309, and #2c2008, #ffd591, #d9902f."""


def look(element: Locator) -> dict[str, str]:
    """Its colours, as the browser has computed them."""
    found: dict[str, str] = element.evaluate(
        """(e) => {
          const s = getComputedStyle(e);
          return {background: s.backgroundColor, ink: s.color,
                  line: s.borderInlineStartColor, width: s.borderInlineStartWidth};
        }"""
    )
    return found


def limited(visitor: Visitor, ada: Person) -> Tab:
    """A conversation with a warning and a limit in it."""
    ada.limits(max_iterations=3)
    ada.plays(reading(0), reading(1), say("That is all."))
    return visitor.enters(ada).ask("Look around.").ended("limited")


def test_us5_1_a_system_message_is_amber_and_unlike_question_and_answer(
    visitor: Visitor, ada: Person
) -> None:
    tab = limited(visitor, ada)
    for scheme, amber in AMBER.items():
        tab.page.emulate_media(color_scheme=scheme)
        for notice in (tab.notices("limit_warning"), tab.notices("limit_reached")):
            expect(notice).to_have_count(1)
            expect(notice.locator("strong", has_text=re.compile("^System$"))).to_be_visible()
            expect(notice).to_have_css("background-color", amber["background"])  # once it is drawn
            assert look(notice) == {**amber, "width": "3px"}
        for selector in (".question-text", ".answer .prose"):
            other = look(tab.page.locator(selector).first)
            assert other["width"] != "3px"
            assert not {other["background"], other["ink"]} & set(amber.values())


def test_us5_2_all_system_messages_are_kept_in_the_history_where_they_happened(
    visitor: Visitor, ada: Person
) -> None:
    tab = limited(visitor, ada)
    expect(tab.notices()).to_have_count(2)
    ada.plays(say("Something else."))
    tab.ask("And something else?").ended("completed")
    before = tab.notices().all_inner_texts()
    order = tab.exchanges.first.evaluate(
        "e => [...e.querySelectorAll('.notice[data-type],.tools,.prose')].map(x => x.className)"
    )
    tab.reload()
    assert tab.notices().all_inner_texts() == before
    assert order == tab.exchanges.first.evaluate(
        "e => [...e.querySelectorAll('.notice[data-type],.tools,.prose')].map(x => x.className)"
    )
    later = str(ada.requests[-1].body["messages"][:-1])
    assert "Approaching iteration limit" not in later  # never replayed to the model


def test_us5_3_a_system_message_can_be_neither_answered_nor_edited(
    visitor: Visitor, ada: Person
) -> None:
    tab = limited(visitor, ada)
    notices = tab.notices()
    for number in range(notices.count()):
        notices.nth(number).hover()
        expect(notices.nth(number).locator("[data-edit],[contenteditable],textarea")).to_have_count(
            0
        )
        names = notices.nth(number).locator("button").all_inner_texts()
        assert set(names) <= {"Continue", "Raise and continue", "Details"}
    expect(tab.notices("limit_warning").locator("button")).to_have_count(0)
