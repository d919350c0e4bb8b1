"""The required edge cases that a browser can show, one test each.

Limits that conflict are in `test_user_stories.py`. What the loop does in each of these is
also tested without a browser, in tests/agents/core.
"""

from tests.browser.expectations import expect
from tests.browser.site import Person, Site
from tests.browser.tabs import CUT_OFF, Visitor
from tests.support.proxy import Proxy
from tests.support.script import Call, call, calls, is_tool_free, say
from tests.support.threaded_endpoint import Held, held


def test_with_one_turn_the_agent_answers_once_and_explains(visitor: Visitor, ada: Person) -> None:
    ada.limits(max_iterations=1)
    ada.plays(say("Without looking anything up: yes."))
    tab = visitor.enters(ada).ask("Is it so?").ended("limited")
    tab.shows("Without looking anything up: yes.")
    expect(tab.last.locator(".explanation")).to_contain_text("1 of 1 iterations")
    expect(tab.notices("limit_warning")).to_have_count(0)
    run = ada.run()
    assert (run["reason"], run["turns"], len(ada.requests)) == ("max_iterations", 1, 1)
    assert is_tool_free(ada.requests[0].body)


def test_a_budget_that_is_spent_in_mid_response_keeps_the_part_that_was_written(
    visitor: Visitor, ada: Person
) -> None:
    ada.limits(token_budget=4_000)
    text = " ".join(f"word{n}" for n in range(6_000))
    ada.plays(say(text, usage=None, pieces=600, piece_delay=0.001))
    tab = visitor.enters(ada).ask("Write without end.").ended("limited")
    tab.shows("word10 ")
    run = ada.run()
    assert run["reason"] == "token_budget"
    assert text.startswith(run["answer"].rstrip())
    assert 1_000 < len(run["answer"]) < len(text)
    expect(tab.last).to_contain_text(run["answer"].split()[-1])
    expect(tab.notices("limit_reached")).to_have_count(1)


def test_a_stop_while_a_warning_is_pending_wins_over_the_warning(
    visitor: Visitor, ada: Person
) -> None:
    """The warning is due at the next turn, which never begins."""
    ada.limits(max_iterations=3)
    gate = ada.gate()
    ada.plays(calls(Call("delegate_librarian", {"task": "Read"})))
    ada.librarian_plays(Held(text="Never said.", gate=gate, after=0))
    tab = visitor.enters(ada).ask("Read it all.")
    expect(tab.tools("running")).to_have_count(1)
    ada.until_librarian_is_asked()
    tab.press_stop()
    tab.ended("cancelled")
    assert ada.run()["reason"] == "user_cancelled"
    assert len(ada.requests) == 1


def test_a_connection_that_drops_at_a_warning_loses_nothing(
    visitor: Visitor, ada: Person, site: Site, proxy: Proxy
) -> None:
    ada.limits(max_iterations=3)
    gate = ada.gate()
    ada.plays(
        call("vault_read", path="index.md"),
        Held(calls=(Call("vault_read", {"path": "people.md"}),), text="Going on. ", gate=gate),
        say("This is the answer."),
    )
    tab = visitor.enters(ada, address=f"http://127.0.0.1:{proxy.port}").ask("Look around.")
    expect(tab.notices("limit_warning")).to_have_count(1)
    tab.watch.allowed.append(CUT_OFF)
    proxy.turn_away()
    expect(tab.connection).not_to_have_attribute("data-state", "open")
    gate.open()
    proxy.turn_away(False)
    tab.connected().ended("limited").shows("Going on.").shows("This is the answer.")
    expect(tab.notices("limit_warning")).to_have_count(1)
    expect(tab.notices("limit_reached")).to_have_count(1)
    assert ada.run()["answer"].endswith("This is the answer.")


def test_no_progress_without_any_content_says_what_was_attempted(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(then=call("vault_search", queries=["leviathan"]))
    tab = visitor.enters(ada).ask("Find it.").ended("limited")
    explanation = tab.last.locator(".explanation")
    expect(explanation).to_contain_text("vault_search")
    expect(explanation).to_contain_text("leviathan")
    expect(explanation).to_contain_text("No answer was written")
    run = ada.run()
    assert (run["reason"], run["answer"].strip()) == ("no_progress", "")


def test_an_answer_after_a_gate_is_whole(visitor: Visitor, ada: Person) -> None:
    """The harness itself: what waits in the middle of a word goes on in the middle of it."""
    gate = ada.gate()
    ada.plays(held("half-", "word", gate))
    tab = visitor.enters(ada).ask("Say it.").shows("half-")
    gate.open()
    tab.ended().shows("half-word")


def test_a_call_in_the_text_that_is_never_closed_is_a_failed_card_and_its_markup_stays_hidden(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(
        held('Let me look.\n<tool_call>{"name": "vault_search", ', '"arguments": {"quer', gate),
        say("The radar hangs on the pier."),
    )
    tab = visitor.enters(ada).ask("Where is the radar?").shows("Let me look.").is_running()
    expect(tab.last).not_to_contain_text("<tool_call>")
    gate.open()
    tab.shows("The radar hangs on the pier.").ended("completed")
    expect(tab.tools("failed")).to_contain_text("Search notes")
    expect(tab.last).not_to_contain_text("<tool_call>")
    assert ada.run()["answer"] == "Let me look.\n\n\nThe radar hangs on the pier."
