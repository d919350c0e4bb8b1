"""Acceptance scenarios of user stories 2, 3 and 5 of the second source document, by number.

US1 is about the settings page (test_settings.py); US4 about decision trees, which no browser shows
(tests/agents/core/test_third_party_tree.py and test_loop_trees.py have it).
"""

import re

from playwright.sync_api import expect

from agents.core.ports import Usage
from tests.browser.site import Person
from tests.browser.tabs import Tab, Visitor
from tests.support.script import Call, Reply, call, calls, is_tool_free, say, when_tool_free
from tests.support.stage import Held

PATHS = ("index.md", "people.md", "questions.md", "plan/budget.md", "plan/roadmap.md",
         "ops/alarm-runbook.md", "data/platform.md", "hardware/gauge.md")  # fmt: skip


def reading(number: int) -> Reply:
    """A turn that reads one note, another one for each number."""
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
    assert "(7/10)" in str(ada.requests[7].body["messages"][-1])  # FR-009: the model is told too
    assert "(7/10)" not in str(ada.requests[6].body["messages"])


def test_us2_2_a_system_message_with_token_usage_appears_at_eighty_percent_of_the_budget(
    visitor: Visitor, ada: Person
) -> None:
    ada.limits(token_budget=30_000)
    thoughts = [
        calls(Call("think", {"thought": f"Thought number {n}."}), usage=Usage(2_300, 100))
        for n in range(10)
    ]
    ada.plays(*thoughts, say("Thought through.", usage=Usage(2_300, 100)))
    tab = visitor.enters(ada).ask("Think hard.").ended("completed")
    warning = tab.notices("limit_warning")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text("24,000/30,000")


def test_us2_3_at_the_limit_everything_is_kept_and_explained_inline(
    visitor: Visitor, ada: Person
) -> None:
    ada.limits(max_iterations=2)
    first = calls(Call("vault_read", {"path": "people.md"}), text="First I read who is there.")
    ada.plays(first, say("Mara leads it; the rest is missing."))
    tab = visitor.enters(ada).ask("Who leads it, and since when?").ended("limited")
    tab.shows("First I read who is there.").shows("Mara leads it; the rest is missing.")
    explanation = tab.last.locator(".explanation")
    expect(explanation).to_contain_text("Turn limit")
    expect(explanation).to_contain_text("2 of 2 turns")
    expect(explanation).to_contain_text("vault_read")
    assert is_tool_free(ada.requests[-1].body)
    live = tab.thread_html()
    assert tab.reload().thread_html() == live


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
    expect(tab.notices("limit_warning")).to_contain_text("time", timeout=12_000)
    expect(tab.last.locator(".badge.limited")).to_be_visible(timeout=12_000)
    tab.ended("limited").shows("I let it be read.").shows("No summary came in time.")
    run = ada.run()
    assert run["reason"] == "timeout"
    assert "half-a-summary" not in run["answer"] + run["explanation"]
    assert "half-a-summary" not in tab.reload().page.locator("body").inner_text()


# -- US3: intelligent termination -----------------------------------------------------------------


def test_us3_1_a_complete_answer_ends_the_run_with_no_further_turn(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(say("Four."))
    tab = visitor.enters(ada).ask("Two and two?").ended("completed")
    assert len(ada.requests) == 1
    expect(tab.last.locator(".meta")).to_contain_text("Turns 1 / 15")
    expect(tab.notices()).to_have_count(0)


def test_us3_2_three_identical_calls_with_identical_results_end_as_no_progress_and_explain(
    visitor: Visitor, ada: Person
) -> None:
    again = call("vault_search", query="kraken")
    ada.plays(again, again, again, say("There is no kraken in the notes."))
    tab = visitor.enters(ada).ask("Where is the kraken?").ended("limited")
    expect(tab.notices("no_progress")).to_contain_text("vault_search")
    expect(tab.last.locator(".explanation")).to_contain_text("kraken")
    tab.shows("There is no kraken in the notes.")
    run = ada.run()
    assert (run["reason"], len(ada.requests)) == ("no_progress", 4)


def test_us3_3_three_failing_turns_end_with_what_was_found_and_a_summary_of_the_errors(
    visitor: Visitor, ada: Person
) -> None:
    missing = [call("vault_read", path=f"missing-{n}.md") for n in range(3)]
    first = calls(Call("vault_read", {"path": "missing-0.md"}), text="I try some paths.")
    ada.plays(first, *missing[1:], say("None of these notes exist."))
    tab = visitor.enters(ada).ask("Read three notes.").ended("limited")
    expect(tab.tools("failed")).to_have_count(3)
    expect(tab.notices("error_limit")).to_have_count(1)
    tab.shows("I try some paths.").shows("None of these notes exist.")
    for number in range(3):
        expect(tab.last.locator(".explanation")).to_contain_text(f"missing-{number}.md")
    assert ada.run()["reason"] == "error_limit"


# -- US5: the system in the chat ------------------------------------------------------------------


def limited(visitor: Visitor, ada: Person) -> Tab:
    """A conversation with a warning and a limit in it."""
    ada.limits(max_iterations=3)
    ada.plays(reading(0), reading(1), say("That is all."))
    return visitor.enters(ada).ask("Look around.").ended("limited")


def test_us5_1_a_system_message_looks_different_from_question_and_answer(
    visitor: Visitor, ada: Person
) -> None:
    tab = limited(visitor, ada)
    warning = tab.notices("limit_warning")
    expect(warning.locator("strong", has_text=re.compile("^System$"))).to_be_visible()
    look = """(e) => {
      const s = getComputedStyle(e);
      return [s.backgroundColor, s.color, s.borderInlineStartWidth];
    }"""
    notice = warning.evaluate(look)
    others = [tab.page.locator(s).first.evaluate(look) for s in (".question-text", ".prose")]
    assert notice[2] == "3px"
    assert all(notice[:2] != other[:2] and other[2] != "3px" for other in others)
    amber = tab.page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--amber-bg').trim()"
    )
    assert amber


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
