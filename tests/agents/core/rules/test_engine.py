"""Rules at work: which fire, what they do, and why no set of them can do harm."""

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from agents.core.chunks import OracleStreamChunk, Turn
from agents.core.control.events import AgentEvent
from agents.core.control.facts import Facts, RunBackground
from agents.core.rules.engine import (
    CROWDED,
    EMITTED,
    MAX_CHAIN,
    MAX_EFFECTS,
    RuleEngine,
)
from agents.core.rules.in_force import MAX_FIRINGS, MAX_RULES
from agents.core.rules.outcomes import Firing, RuleFailure
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule, RuleLevel
from agents.core.rules.steps import MAX_EVENT_STEPS
from agents.core.rules.vocabulary import HOOKS
from tests.agents.core.control.test_event_stream import play_scenario, store
from tests.agents.core.factories import play
from tests.agents.core.rules.random_rules import build_rules
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.seeds import in_slices
from tests.support.tools import FakeTools, fails, returns
from tests.support.virtual import virtual_time

SEEDS = 20
LONG_SEEDS = 10_000


def write(
    name: str = "mine",
    *,
    head: str = 'trigger = "on_turn_end"',
    condition: str = "true",
    action: str = 'type = "log"\nmessage = "Noted."',
) -> Rule:
    return read_rule(
        f'[rule]\nid = "{name}"\n{head}\n[condition]\nexpression = "{condition}"\n'
        f"[[action]]\n{action}"
    )


def emit(event: str, heard: str, name: str) -> Rule:
    """A rule that emits one event when it hears another."""
    return write(name, head=f'on = ["{heard}"]', action=f'type = "emit_event"\nevent = "{event}"')


def watch(
    rules: Sequence[Rule], chunks: Sequence[OracleStreamChunk], engine: RuleEngine | None = None
) -> list[Firing | RuleFailure]:
    """Everything that rules do in a run."""
    facts, engine = Facts(RunBackground()), engine or RuleEngine(rules)
    return [
        outcome
        for chunk in chunks
        for event in facts.feed(chunk)
        for outcome in engine.feed(facts, event)
    ]


def tell(outcomes: Sequence[Firing | RuleFailure]) -> list[tuple[Any, ...]]:
    return [
        (one.rule.id, one.event, one.seq, one.turn, [effect.words for effect in one.effects])
        if isinstance(one, Firing)
        else (one.rule.id, one.event, one.seq, one.problem, one.is_off)
        for one in outcomes
    ]


def count_turns(engine: RuleEngine, number: int) -> list[Firing | RuleFailure]:
    """What the rules do at the ends of so many turns."""
    facts, about = Facts(RunBackground()), {"number": 1, "wrap_up": ""}
    return [
        outcome
        for seq in range(number)
        for outcome in engine.feed(facts, AgentEvent("turn.end", seq, 0.0, about))
    ]


async def look_three_times() -> list[OracleStreamChunk]:
    """A run whose three calls fail."""
    steps = [call("look", page=n) for n in range(3)]
    return await play(ScriptedModel(steps, then=say("No.")), FakeTools({"look": fails("Gone.")}))


# -- which fire -----------------------------------------------------------------------------------


@virtual_time
async def test_all_seven_hooks_fire_in_the_order_of_what_happens() -> None:
    rules = [write(hook.replace("_", "-"), head=f'trigger = "{hook}"') for hook in HOOKS]
    model = ScriptedModel([call("look"), call("fail"), say("So.")])
    chunks = await play(model, FakeTools({"look": returns("page"), "fail": fails()}))
    fired = [one.rule.trigger for one in watch(rules, chunks)]
    first = ["on_turn_start", "on_tool_call", "on_tool_complete"]
    assert fired == [
        "on_query_start",
        *first,
        "on_turn_end",
        *first,
        "on_tool_failure",
        "on_turn_end",
        "on_turn_start",
        "on_turn_end",
        "on_session_end",
    ]


@virtual_time
async def test_a_rule_fires_when_its_condition_holds_and_says_what_it_was_told_to() -> None:
    rule = write(
        head='trigger = "on_tool_failure"\nonce = true',
        condition="history.failures[result.tool_name] >= 2",
        action='type = "notify"\nmessage = "{tool} fails: {error}"',
    )
    (firing,) = watch([rule], await look_three_times())
    assert isinstance(firing, Firing)
    assert (firing.event, firing.turn) == ("tool.call.failure", 2)
    assert [effect.words for effect in firing.effects] == ["`look` fails: `Gone.`"]


def test_higher_priorities_are_first_and_equals_stay_in_order() -> None:
    rules = [
        write("late", head='trigger = "on_turn_end"\npriority = 1'),
        write("a"),
        write("b"),
        write("early", head='trigger = "on_turn_end"\npriority = 900'),
    ]
    outcomes = count_turns(RuleEngine(rules), 1)
    assert [one.rule.id for one in outcomes] == ["early", "a", "b", "late"]


def test_a_rule_that_is_off_does_nothing_and_one_in_the_shadow_is_recorded() -> None:
    off = write("off", head='trigger = "on_turn_end"\nmode = "off"')
    shadow = write("shadow", head='trigger = "on_turn_end"\nmode = "shadow"')
    (firing,) = count_turns(RuleEngine([off, shadow]), 1)
    assert isinstance(firing, Firing)
    assert (firing.rule.id, firing.is_shadow) == ("shadow", True)


def test_a_rule_in_the_shadow_emits_nothing_for_others() -> None:
    head = 'on = ["turn.end"]\nmode = "shadow"'
    quiet = write("quiet", head=head, action='type = "emit_event"\nevent = "x.a"')
    outcomes = count_turns(RuleEngine([quiet, write("hears", head='on = ["x.a"]')]), 1)
    assert [one.rule.id for one in outcomes] == ["quiet"]


def test_why_a_rule_did_not_fire_is_known_of_its_last_look() -> None:
    rule = write(condition="turn.number == 0 and turn.token_usage > 0.5")
    engine = RuleEngine([rule])
    assert count_turns(engine, 2) == []
    why = engine.why_not["shipped:mine"]
    assert why.seq == 1
    assert str(why.part) == "turn.token_usage > 0.5 did not hold: 0 and 0.500"


def test_what_is_recorded_of_a_rule_that_did_not_fire_can_be_stored() -> None:
    rule = replace(write(condition="event.payload.wrap_up == 'x'"), name="a\x00b")
    engine, about = RuleEngine([rule]), {"number": 1, "wrap_up": "\x00\ud800"}
    engine.feed(Facts(RunBackground()), AgentEvent("turn.end", 3, 0.0, about))
    (found,) = engine.describe_not_fired()
    assert found == {
        "rule": "shipped:mine",
        "name": "a\ufffdb",
        "turn": 0,
        "seq": 3,
        "why": 'event.payload.wrap_up == \'x\' did not hold: "\ufffd\ufffd" and "x"',
    }


def test_what_a_condition_does_not_look_at_is_there_for_the_actions() -> None:
    action = 'type = "set_state"\nkey = "{0}"\nexpression = "{0}"'
    seen = ("event.payload.tool", "event.type", "result.size", "turn.elapsed")
    actions = "\n[[action]]\n".join(action.format(name) for name in seen)
    quiet = write("quiet", head='trigger = "on_tool_complete"', condition="turn.number > 5")
    rule = write(
        "keen",
        head='trigger = "on_tool_complete"',
        condition="turn.number == 0",
        action=actions.replace('key = "event.payload.', 'key = "'),
    )
    engine, facts = RuleEngine([quiet, rule]), Facts(RunBackground())
    for seq, size in enumerate((7, 9)):
        about = {"id": "1", "tool": f"tool-{size}", "duration_ms": 1, "size": size}
        facts.feed(Turn(number=0, phase="start", at=10.0))
        engine.feed(facts, AgentEvent("tool.call.success", seq, 12.5 + seq, about))
        assert [*engine.states["shipped:keen"].values()] == [
            f"tool-{size}",
            "tool.call.success",
            size,
            2.5 + seq,
        ]


def test_runs_with_the_same_rules_share_no_more_than_who_listens() -> None:
    rules = [write("once", head='trigger = "on_turn_end"\nonce = true', action=COUNT)]
    first, second = RuleEngine(rules), RuleEngine(rules)
    assert len(count_turns(first, 2)) == 1
    assert len(count_turns(second, 2)) == 1
    assert first.states == second.states == {"shipped:once": {"count": 1}}
    assert RuleEngine(rules).states == {"shipped:once": {}}


def test_no_more_rules_than_a_hundred_are_in_force() -> None:
    rules = [write(f"rule-{number:03}") for number in range(150)]
    outcomes = count_turns(RuleEngine(rules), 1)
    assert [one.rule.id for one in outcomes] == [rule.id for rule in rules[:MAX_RULES]]


# -- what they remember ---------------------------------------------------------------------------

COUNT = 'type = "set_state"\nkey = "count"\nexpression = "(state.count or 0) + 1"'


def test_a_rule_remembers_and_sees_only_its_own() -> None:
    rules = [write("a", action=COUNT, condition="(state.count or 0) < 2"), write("b", action=COUNT)]
    engine = RuleEngine(rules, {"shipped:b": {"count": 40}})
    count_turns(engine, 3)
    assert engine.states == {"shipped:a": {"count": 2}, "shipped:b": {"count": 43}}


def test_what_is_remembered_is_a_copy() -> None:
    keep = 'type = "set_state"\nkey = "calls"\nexpression = "history.calls"'
    engine, facts = (
        RuleEngine([write(action=keep, head='on = ["turn.end"]')]),
        Facts(RunBackground()),
    )
    engine.feed(facts, AgentEvent("turn.end", 1, 0.0, {}))
    facts.history["calls"]["look"] = 7
    assert engine.states["shipped:mine"] == {"calls": {}}


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("[0 for tool in history.tools]", "a value of more than 2,048 characters"),
        ("state.missing + 1", "+ cannot be used on nothing and a number"),
    ],
)
def test_what_cannot_be_remembered_is_a_failure_that_changes_nothing(
    expression: str, problem: str
) -> None:
    action = f'{COUNT}\n[[action]]\ntype = "set_state"\nkey = "other"\nexpression = "{expression}"'
    engine, facts = RuleEngine([write(action=action)]), Facts(RunBackground())
    facts.history["tools"] = [{}] * 1_500
    (failure,) = engine.feed(facts, AgentEvent("turn.end", 1, 0.0, {}))
    assert isinstance(failure, RuleFailure)
    assert failure.problem.startswith(problem)
    assert engine.states == {"shipped:mine": {}}


def test_no_more_than_fifty_values_are_remembered() -> None:
    engine = RuleEngine([write(action=COUNT)], {"shipped:mine": {f"key-{n}": n for n in range(50)}})
    (failure,) = count_turns(engine, 1)
    assert isinstance(failure, RuleFailure)
    assert failure.problem == "more than 50 values cannot be remembered"


# -- guards ---------------------------------------------------------------------------------------


def test_a_rule_that_cannot_be_answered_is_off_after_three_times_and_the_others_are_not() -> None:
    broken = write("broken", condition="state.missing + 1 > 1")
    outcomes = count_turns(RuleEngine([broken, write("sound")]), 5)
    failures = [one for one in outcomes if isinstance(one, RuleFailure)]
    assert [one.is_off for one in failures] == [False, False, True]
    assert failures[0].problem == "+ cannot be used on nothing and a number"
    assert len(outcomes) == 3 + 5


def test_a_rule_fires_twenty_times_at_most_and_once_if_it_says_so() -> None:
    rules = [write("often"), write("once", head='trigger = "on_turn_end"\nonce = true')]
    counts = Counter(one.rule.id for one in count_turns(RuleEngine(rules), 30))
    assert counts == {"often": MAX_FIRINGS, "once": 1}


def test_all_rules_together_do_a_hundred_things_in_a_run() -> None:
    rules = [write(f"rule-{number}") for number in range(30)]
    assert len(count_turns(RuleEngine(rules), 20)) == MAX_EFFECTS


@pytest.mark.parametrize("level", ["own", "project"])
def test_no_ones_rules_use_up_what_the_site_wants_done(level: RuleLevel) -> None:
    """They may be looked at first, and do as much as they like."""
    noisy = [
        replace(write(f"rule-{n}", head='trigger = "on_turn_end"\npriority = 1000'), level=level)
        for n in range(MAX_RULES)
    ]
    stop = replace(write("stop", condition="turn.number > 0"), level="site")
    engine = RuleEngine([*noisy, stop])
    count_turns(engine, 20)
    facts = Facts(RunBackground())
    facts.turn["number"] = 1
    found = engine.feed(facts, AgentEvent("turn.end", 21, 0.0, {"number": 1, "wrap_up": ""}))
    assert [one.rule.key for one in found] == ["site:stop"]


DEAR = "len([t for t in history.tools if t.name == 'never' or t.name == 'nor']) == 1"


def fill_history(calls: int) -> Facts:
    """Facts of a run with so many calls behind it."""
    facts = Facts(RunBackground())
    facts.history["tools"].extend({"name": "look"} for _ in range(calls))
    return facts


def test_many_dear_rules_take_no_more_steps_than_their_level_has() -> None:
    dear = [replace(write(f"rule-{n}", condition=DEAR), level="own") for n in range(30)]
    site = replace(write("site", condition=DEAR.replace("== 1", "== 0")), level="site")
    engine, facts = RuleEngine([*dear, site]), fill_history(400)
    event = AgentEvent("turn.end", 1, 0.0, {"number": 1, "wrap_up": ""})
    found = [engine.feed(facts, event) for _ in range(4)]
    failed = [one for each in found for one in each if isinstance(one, RuleFailure)]
    assert engine.steps_taken < 4 * 2 * MAX_EVENT_STEPS
    assert {one.problem for one in failed} == {CROWDED}
    assert {one.rule.level for one in failed} == {"own"}
    fired = [one.rule.key for each in found for one in each if isinstance(one, Firing)]
    assert fired == ["site:site"] * 4


def test_one_dear_rule_among_many_cheap_ones_is_answered() -> None:
    cheap = [write(f"rule-{n}", condition="turn.number > 90") for n in range(29)]
    dear = write("z-dear", condition=DEAR.replace("== 1", "== 0"))
    (fired,) = RuleEngine([*cheap, dear]).feed(
        fill_history(400), AgentEvent("turn.end", 1, 0.0, {"number": 1, "wrap_up": ""})
    )
    assert fired.rule.id == "z-dear"


def test_what_rules_remember_is_worked_out_with_the_same_steps() -> None:
    remember = f'type = "set_state"\nkey = "n"\nexpression = "{DEAR}"'
    rules = [write(f"rule-{n}", action=remember) for n in range(30)]
    engine = RuleEngine(rules)
    event = AgentEvent("turn.end", 1, 0.0, {"number": 1, "wrap_up": ""})
    engine.feed(fill_history(400), event)
    assert engine.steps_taken < 2 * MAX_EVENT_STEPS


def test_a_rule_that_ends_the_run_fires_once() -> None:
    stop = write("stop", action='type = "stop"\nmessage = "Enough."')
    assert len(count_turns(RuleEngine([stop]), 3)) == 1
    assert len(count_turns(RuleEngine([replace(stop, mode="shadow")]), 3)) == 1


@pytest.mark.parametrize("level", ["site", "project"])
def test_ones_own_rule_does_not_take_the_answer_that_another_sends_back(level: RuleLevel) -> None:
    again = 'type = "ask_again"\nmessage = "Look it up."'
    first = 'trigger = "on_turn_end"\npriority = 1000'
    own = replace(write("own", head=first, action=again), level="own")
    other = replace(write("other", action=again), level=level)
    facts = Facts(RunBackground())
    facts.turn["answered"] = True
    event = AgentEvent("turn.end", 1, 0.0, {"number": 1, "wrap_up": ""})
    found = RuleEngine([own, other]).feed(facts, event)
    assert [one.rule.id for one in found if isinstance(one, Firing) and one.effects] == ["other"]
    (alone,) = RuleEngine([own, replace(other, mode="shadow")]).feed(facts, event)[:1]
    assert isinstance(alone, Firing)
    assert [str(effect) for effect in alone.effects] == ["ask_again: Look it up."]


def test_a_rule_never_hears_what_it_has_led_to() -> None:
    rules = [
        emit("x.a", "turn.end", "begins"),
        emit("x.b", "x.a", "first"),
        emit("x.a", "x.b", "second"),
    ]
    outcomes = count_turns(RuleEngine(rules), 1)
    assert [one.rule.id for one in outcomes] == ["begins", "first", "second"]
    own = emit("x.a", "x.*", "own")
    assert count_turns(RuleEngine([own, rules[0]]), 1)[1:] != []
    assert len(count_turns(RuleEngine([own, rules[0]]), 1)) == 2


def test_what_other_rules_have_done_keeps_none_from_holding_calls() -> None:
    hold = write(
        "hold", head='trigger = "on_tool_call"', action='type = "hold"\nmessage = "May it?"'
    )
    noisy = [replace(write(f"rule-{n}"), level="own") for n in range(MAX_RULES - 1)]
    engine = RuleEngine([*noisy, replace(hold, level="own")])
    count_turns(engine, 5)
    about = {"id": "c1", "tool": "look", "writes": False}
    (held,) = engine.feed(Facts(RunBackground()), AgentEvent("tool.call.pending", 99, 0.0, about))
    assert isinstance(held, Firing)
    assert [one.words for one in held.effects] == ["May it?"]


def test_a_chain_has_three_links() -> None:
    rules = [emit("x.a0", "turn.end", "rule-0")]
    rules += [emit(f"x.a{n}", f"x.a{n - 1}", f"rule-{n}") for n in range(1, 9)]
    outcomes = count_turns(RuleEngine(rules), 1)
    assert [one.rule.id for one in outcomes] == [f"rule-{n}" for n in range(MAX_CHAIN + 1)]


def test_own_events_that_come_back_from_the_record_are_not_looked_at_again() -> None:
    engine = RuleEngine([write(head='on = ["x.*"]')])
    assert engine.feed(Facts(RunBackground()), AgentEvent("x.a", 1, 0.0, {}, EMITTED)) == []


@virtual_time
async def test_an_answer_is_sent_back_once_in_a_run() -> None:
    rules = [write(name, action='type = "ask_again"\nmessage = "Name a source."') for name in "ab"]
    chunks = await play(
        ScriptedModel([call("look"), say("So.")]), FakeTools({"look": returns("x")})
    )
    effects = [len(one.effects) for one in watch(rules, chunks) if isinstance(one, Firing)]
    assert effects == [0, 0, 1, 0]


# -- any rules, any run ---------------------------------------------------------------------------


def assert_harmless(seeds: Sequence[int]) -> None:
    for seed in seeds:
        chunks, _ = play_scenario(seed)
        rules = build_rules(Random(seed), 12)
        live = watch(rules, chunks)
        assert tell(live) == tell(watch(rules, store(chunks))), seed
        assert_within_bounds(live)
        assert_no_other_state_changes(rules, chunks)


def assert_within_bounds(outcomes: Sequence[Firing | RuleFailure]) -> None:
    firings = [one for one in outcomes if isinstance(one, Firing)]
    counts = Counter(one.rule.id for one in firings)
    assert all(count <= MAX_FIRINGS for count in counts.values())
    assert all(counts[one.rule.id] == 1 for one in firings if one.rule.once)
    assert sum(len(one.effects) for one in firings) <= MAX_EFFECTS
    for one in firings:
        assert len(one.chain) <= MAX_CHAIN
        assert one.rule.key not in one.chain
        assert one.rule.mode != "off"
    failures = Counter(one.rule.id for one in outcomes if isinstance(one, RuleFailure))
    assert all(count <= 3 for count in failures.values())


def assert_no_other_state_changes(
    rules: Sequence[Rule], chunks: Sequence[OracleStreamChunk]
) -> None:
    engine, facts = RuleEngine(rules), Facts(RunBackground())
    for chunk in chunks:
        for event in facts.feed(chunk):
            before = copy.deepcopy(engine.states)
            fired = {one.rule.key for one in engine.feed(facts, event) if isinstance(one, Firing)}
            changed = {name for name, state in engine.states.items() if state != before[name]}
            assert changed <= fired


def test_random_rules_do_the_same_live_and_stored_and_stay_within_bounds() -> None:
    assert_harmless(range(SEEDS))


@pytest.mark.long
@in_slices(LONG_SEEDS)
def test_random_rules_do_the_same_in_ten_thousand_runs(seeds: range) -> None:
    assert_harmless(seeds)
