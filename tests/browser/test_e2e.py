"""The ten end-to-end scenarios that `docs/conformance.md` quotes, by their numbers."""

import re

from agents.core.messages import TokenUsage
from tests.browser.expectations import expect
from tests.browser.site import Person
from tests.browser.tabs import Visitor
from tests.support.dom import GROWN
from tests.support.script import Call, call, calls, is_tool_free, say, when_tool_free
from tests.support.threaded_endpoint import Held, held

NOTES = ("index.md", "people.md", "questions.md", "plan/budget.md", "plan/roadmap.md")


def percent_of_window(ada: Person, tokens: int) -> str:
    """As the meter has it."""
    (window, *_) = (
        c["max_context_tokens"] for c in ada.run()["chunks"] if c["type"] == "context_update"
    )
    return str(round(100 * tokens / window))


def kinds(run: dict[str, object]) -> list[str]:
    return [chunk["type"] for chunk in run["chunks"]]  # type: ignore[attr-defined]


def test_e2e_1_a_basic_question_streams_its_answer_and_is_saved(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(held("The radar hangs ", "on the north pier.", gate))
    tab = visitor.enters(ada).ask("Where does the radar hang?")
    tab.shows("The radar hangs").is_running()
    expect(tab.last).not_to_contain_text("north pier")
    gate.open()
    tab.shows("The radar hangs on the north pier.").ended("completed")
    tab.shows("Answered without looking at your notes")
    run = ada.run()
    assert (run["answer"], run["exchanges"]) == ("The radar hangs on the north pier.", 1)
    assert kinds(run)[-1] == "done"
    live = tab.thread_html()
    assert tab.reload().thread_html() == live


def test_e2e_2_a_single_tool_call_shows_its_result_and_the_answer_uses_it(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(call("vault_search", queries=["radar"]), say("As [decisions/0001-radar.md:1] says."))
    tab = visitor.enters(ada).ask("Why radar?").ended()
    card = tab.tools("done")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("Search notes")
    expect(card).to_contain_text("radar")
    card.locator("summary").click()
    expect(card).to_contain_text("vault_search")
    expect(card).to_contain_text("decisions/0001-radar.md")
    (result,) = [c for c in ada.run()["chunks"] if c["type"] == "tool_result"]
    assert result["ok"]
    messages = ada.requests[-1].body["messages"]
    assert any(m["role"] == "tool" and result["tool_result"] in m["content"] for m in messages)
    tab.shows("As").shows("says.").shows("1 source")
    expect(tab.last.locator(".sources")).not_to_contain_text("Answered without")


def test_e2e_3_parallel_tools_run_at_the_same_time_and_their_results_are_merged(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    three = [Call("delegate_librarian", {"task": f"Read part {n}"}) for n in range(3)]
    ada.plays(calls(*three), say("All three parts read."))
    ada.librarian_plays(then=Held(text="Part summary.", gate=gate, after=0))
    tab = visitor.enters(ada).ask("Summarise three parts.")
    expect(tab.tools("running")).to_have_count(3)
    gate.open()
    tab.ended()
    expect(tab.tools("done")).to_have_count(3)
    results = [m for m in ada.requests[-1].body["messages"] if m["role"] == "tool"]
    assert [m["content"] for m in results] == ["Part summary."] * 3


def test_e2e_4_a_long_answer_streams_in_many_frames_and_the_context_meter_moves(
    visitor: Visitor, ada: Person
) -> None:
    """Up with what the tools bring while the run goes on, and again with the answer."""
    gate = ada.gate()
    text = " ".join(f"word{n}" for n in range(1_200))
    reads = [Call("vault_read", {"path": path}) for path in NOTES]
    ada.plays(calls(*reads), Held(text=text, gate=gate, after=3, piece_delay=0.001))
    tab = visitor.enters(ada).ask("Tell me everything.").shows("word2").is_running()
    meter = tab.page.locator("#meters label", has_text="Context").locator("meter")
    before = [c["context_tokens"] for c in ada.run()["chunks"] if c["type"] == "context_update"]
    assert len(before) == 2
    assert before[1] - before[0] >= 500
    expect(meter).to_have_attribute("value", percent_of_window(ada, before[1]))
    assert percent_of_window(ada, before[0]) != percent_of_window(ada, before[1])
    gate.open()
    tab.ended().shows("word1199")
    assert len([f for f in tab.frames.received if GROWN.match(f)]) > 5
    run = ada.run()
    stored = kinds(run)
    assert stored.count("content") > 5
    assert stored.index("context_update") < stored.index("content") < stored.index("done")
    after = [c["context_tokens"] for c in run["chunks"] if c["type"] == "context_update"][-1]
    assert after - before[1] >= 500
    expect(meter).to_have_attribute("value", percent_of_window(ada, after))
    tab.reload()
    expect(meter).to_have_attribute("value", percent_of_window(ada, after))


def test_e2e_5_the_iteration_budget_warns_at_turn_two_and_ends_at_turn_three(
    visitor: Visitor, ada: Person
) -> None:
    ada.limits(max_iterations=3)
    ada.plays(
        call("vault_read", path="people.md"),
        call("vault_read", path="index.md"),
        when_tool_free(say("This is what I have."), otherwise=call("vault_list")),
    )
    tab = visitor.enters(ada).ask("Look everywhere.").ended("limited")
    warning = tab.notices("limit_warning")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text("1/3")
    expect(tab.notices("limit_reached")).to_have_count(1)
    tab.shows("This is what I have.")
    run = ada.run()
    assert (run["reason"], run["turns"], run["exchanges"]) == ("max_iterations", 3, 1)
    turns = [c for c in run["chunks"] if c["type"] in ("turn", "system")]
    second = next(i for i, c in enumerate(turns) if c.get("number") == 2)
    warned = next(i for i, c in enumerate(turns) if c.get("system_type") == "limit_warning")
    assert abs(warned - second) == 1
    assert run["answer"].endswith("This is what I have.")


def test_e2e_6_a_token_budget_of_a_thousand_warns_and_ends_gracefully(
    visitor: Visitor, ada: Person
) -> None:
    """The prompt with all tools takes most of a thousand tokens, so the warning comes with the
    forecast, before 800 are used, and the answer is asked for without tools."""
    ada.limits(token_budget=1_000)
    ada.plays(say("What I know by now.", usage=TokenUsage(780, 40)))
    tab = visitor.enters(ada).ask("What is known?").ended("limited")
    warning = tab.notices("limit_warning")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text("/1,000")
    expect(tab.notices("limit_reached")).to_have_count(1)
    tab.shows("What I know by now.")
    expect(tab.last.locator(".explanation")).to_contain_text("820 of 1,000 tokens")
    run = ada.run()
    assert (run["reason"], run["answer"]) == ("token_budget", "What I know by now.")


def test_e2e_6_with_room_for_a_turn_the_warning_comes_at_eighty_percent(
    visitor: Visitor, ada: Person
) -> None:
    """Where two more iterations fit into the last fifth, the percent decides, not the forecast."""
    ada.limits(token_budget=50_000, max_iterations=50)
    final = say("What I know by now.", usage=TokenUsage(500, 40))
    sums = [
        calls(Call("calculate", {"expression": f"{n} * {n}"}), usage=TokenUsage(1_600, 50))
        for n in range(32)
    ]
    ada.plays(*(when_tool_free(final, otherwise=step) for step in sums), unused_ok=True)
    tab = visitor.enters(ada).ask("What is known?").ended("limited")
    warning = tab.notices("limit_warning")
    expect(warning).to_have_count(1)
    used = int(re.search(r"\(([\d,]+)/50,000", warning.inner_text())[1].replace(",", ""))  # type: ignore[index]
    assert 40_000 <= used < 42_000
    tab.shows("What I know by now.")


def test_e2e_7_the_same_tool_call_three_times_is_a_loop_that_user_and_model_are_told_of(
    visitor: Visitor, ada: Person
) -> None:
    again = call("vault_search", queries=["tide"])
    ada.plays(then=when_tool_free(say("I kept looking for tides."), otherwise=again))
    tab = visitor.enters(ada).ask("Find it.").ended("limited")
    expect(tab.notices("no_progress")).to_have_count(1)
    run = ada.run()
    assert run["reason"] == "no_progress"
    assert [c["text"] for c in run["chunks"] if c["type"] == "hint"]
    hinted = [r.body for r in ada.requests if "Oracle:" in str(r.body["messages"][-1])]
    assert hinted
    assert is_tool_free(ada.requests[-1].body)


def test_e2e_7_a_loop_that_is_not_in_a_row_is_told_to_user_and_model(
    visitor: Visitor, ada: Person
) -> None:
    """A B A C A: nothing ends the run, but both are told, once."""
    ada.plays(
        *(
            call("vault_search", queries=[query])
            for query in ("tide", "buoy", "tide", "gauge", "tide")
        ),
        say("I will stop looking for tides."),
    )
    tab = visitor.enters(ada).ask("Find it.").ended("completed")
    expect(tab.notices("loop_warning")).to_contain_text("3 times in the last 6 iterations")
    words = "You made the same calls 3 times in the last 6 iterations."
    assert words in ada.requests[5].body["messages"][-1]["content"]
    assert not any(words in str(request.body) for request in ada.requests[:5])
    notices = [c for c in ada.run()["chunks"] if c["type"] == "system"]
    assert [c["system_type"] for c in notices].count("loop_warning") == 1


def test_e2e_8_stop_in_mid_stream_ends_the_run_and_keeps_what_was_shown(
    visitor: Visitor, ada: Person
) -> None:
    gate = ada.gate()
    ada.plays(held("What was said so far ", "and never more.", gate))
    tab = visitor.enters(ada).ask("A long story, please.").shows("What was said so far")
    tab.press_stop()
    tab.ended("cancelled").shows("What was said so far")
    run = ada.run()
    assert (run["outcome"], run["reason"]) == ("cancelled", "user_cancelled")
    assert run["answer"] == "What was said so far "
    *_, error, done = [chunk for chunk in run["chunks"] if chunk["type"] != "event"]
    assert (error["type"], error["code"], done["type"]) == ("error", "cancelled", "done")
    assert run["exchanges"] == 1


def test_e2e_9_the_events_of_a_run_are_stored_in_order(visitor: Visitor, ada: Person) -> None:
    ada.plays(call("vault_list"), say("Seventeen notes."))
    visitor.enters(ada).ask("How many notes?").ended()
    chunks = ada.run()["chunks"]
    assert [c["seq"] for c in chunks] == list(range(1, len(chunks) + 1))
    told = [(c["type"], c.get("phase") or c.get("ok")) for c in chunks]
    wanted = [("turn", "start"), ("tool_result", True), ("turn", "end"), ("done", None)]
    places = [told.index(entry) for entry in wanted]
    assert places == sorted(places)
    assert told[-1] == ("done", None)


def test_e2e_10_the_second_question_brings_the_first_one_with_it(
    visitor: Visitor, ada: Person
) -> None:
    ada.plays(say("It is called Skerrin."), say("As I said: Skerrin."))
    tab = visitor.enters(ada).ask("What is the harbour called?").ended()
    tab.ask("Say it again?").ended()
    messages = ada.requests[-1].body["messages"]
    told = [(m["role"], m["content"]) for m in messages if m["role"] != "system"]
    assert [role for role, _ in told] == ["user", "assistant", "user"]
    assert "What is the harbour called?" in told[0][1]
    assert "It is called Skerrin." in told[1][1]
    first, second = ada.runs()
    assert first["chunks"][-1]["context_id"] == first["id"]
    assert second["exchanges"] == 1
