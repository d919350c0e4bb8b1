"""Behaviours from their text: what they say, and every mistake with its place."""

from pathlib import Path

import pytest

from agents.core.behaviours import (
    Behaviour,
    BehaviourVocabulary,
    InvalidBehaviour,
    read_behaviour,
)
from agents.core.behaviours.behaviour import ValueScope
from agents.core.behaviours.signatures import MAX_NODES
from agents.core.config import AgentConfig
from agents.tools import registry
from tests.agents.core.behaviours.stand_in_words import register_stand_ins
from tests.support.timing import assert_in_proportion

MIGRATION = Path(__file__).resolve().parents[3] / "data" / "oracle-agent-migration.lisp"
SCHEMA = ':blackboard-schema {:plan "" :topics [] :names ["a"] :depth 3 :done false}'
KNOWN = {
    "helper": '(tree "helper" :blackboard-schema {:task "" :found []} (turn :say "{task}"))',
    "a": '(tree "a" (subtree b))',
    "b": '(tree "b" (sequence (succeed) (subtree a)))',
    "own": '(tree "own" (subtree own))',
    "bad": '(tree "bad"\n  (turn :sya "x"))',
    "wide": f'(tree "wide" (sequence {"(succeed) " * 300}))',
    "twice": '(tree "twice" (sequence (subtree wide) (subtree wide)))',
}
NO_REASON = (
    "there is no reason {!r} for which a behaviour may stop; the reasons are max_iterations, "
    "token_budget, timeout, rule_stopped, behaviour_ended, no_progress, error_limit, "
    "output_truncated"
)
VOCABULARY = BehaviourVocabulary(
    tools=["vault_read", "vault_search"], decision_trees=["default", "quick"], behaviours=KNOWN
)


def read(node: str, schema: str = SCHEMA) -> Behaviour:
    return read_behaviour(f'(tree "mine" {schema}\n{node})', VOCABULARY)


def refuse(text: str) -> list[str]:
    with pytest.raises(InvalidBehaviour) as caught:
        read_behaviour(text, VOCABULARY)
    return [str(problem) for problem in caught.value.problems]


def refuse_node(node: str) -> list[str]:
    return refuse(f'(tree "mine" {SCHEMA}\n{node})')


# -- what is read ---------------------------------------------------------------------------------


def test_a_behaviour_has_what_was_written() -> None:
    text = """(tree "mine"
  :description "Says it."
  :decision-tree "quick"
  :blackboard-schema {:plan ""}
  (sequence (notify "{plan}") (succeed))
  :finally (notify "Over."))"""
    behaviour = read_behaviour(text, VOCABULARY)
    assert (behaviour.name, behaviour.description) == ("mine", "Says it.")
    assert behaviour.decision_tree == "quick"
    assert list(behaviour.schema) == ["plan"]
    assert [(node.number, node.kind) for node in behaviour.walk()] == [
        (1, "sequence"),
        (2, "notify"),
        (3, "succeed"),
        (4, "notify"),
    ]
    assert behaviour.root.place == (5, 3)
    assert behaviour.root.children[0].label == 'notify "{plan}"'
    assert behaviour.text == text
    assert len(behaviour.digest) == 64


def test_a_flag_stands_alone_or_before_true_or_false() -> None:
    assert read("(repeater :until-success (succeed))").root.options == {"until-success": True}
    assert read("(repeater :until-success true (succeed))").root.options["until-success"] is True
    assert read("(repeater :until-success false (succeed))").root.options["until-success"] is False


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("(blackboard :depth)", 3),
        ("(config :max_iterations)", AgentConfig().max_iterations),
        ('(expr "depth * 2 if len(plan) > 3 else 0")', 6),
        ("{:a [1 nil true :word]}", {"a": [1, None, True, "word"]}),
        ('(lines "- one\\n\\n  two ")', ["one", "two"]),
        ("(lines (blackboard :plan))", ["1. look", "2. tell"]),
        ('"Do: {plan}, {question}"', "Do: 1. look\n2. tell, Why?"),
    ],
)
def test_values_are_got_from_what_is_known_in_a_run(value: str, found: object) -> None:
    scope = ValueScope({"plan": "1. look\n2. tell", "depth": 3, "question": "Why?"}, AgentConfig())
    behaviour = read(f"(set :x {value})", ':blackboard-schema {:x any :plan "" :depth 3}')
    key, bound = behaviour.root.subject
    assert key == "x"
    assert bound.get(scope) == found


def test_an_item_is_known_inside_its_loop_alone() -> None:
    node = '(for-each (blackboard :names) :as :name (notify "{name}"))'
    assert read(node).root.options == {"as": "name"}
    assert refuse_node('(sequence (for-each (blackboard :names) (succeed)) (notify "{item}"))') == [
        "2:61: there is no field 'item'"
    ]
    assert refuse_node('(for-each (blackboard :names) (set :item "x"))') == [
        "2:36: :item is an item of a list and cannot be written"
    ]


def test_the_text_of_the_migration_names_three_keys_that_it_does_not_declare() -> None:
    text = MIGRATION.read_text()
    with pytest.raises(InvalidBehaviour) as caught:
        read_behaviour(text, BehaviourVocabulary(words=register_stand_ins(text)))
    assert [str(problem) for problem in caught.value.problems] == [
        "52:44: there is no blackboard key :model",
        "56:45: there is no blackboard key :max_tokens",
        "78:47: there is no blackboard key :xml_tool_calls; did you mean :tool_calls?",
    ]


def test_the_text_of_the_migration_is_read_once_they_are_declared() -> None:
    text = MIGRATION.read_text().replace(
        ":cancelled false", ":cancelled false :model nil :max_tokens 0 :xml_tool_calls []"
    )
    words = register_stand_ins(text)
    behaviour = read_behaviour(text, BehaviourVocabulary(words=words))
    assert len(list(behaviour.walk())) == 53


# -- what is refused ------------------------------------------------------------------------------


def test_every_problem_is_told_at_once_with_the_nearest_name() -> None:
    text = """(tree "Mine"
  :descriptoin "x"
  :decision-tree "quik"
  :blackboard-schema {:topics [] :plan strng}
  (sequence
    (repeeter :until-success
      (turn :sya "a" :tools :readin :into :topic))
    (condition "lenn(topics) > tokens")
    (notify "{topic} and {")
    (stop max_iteration)
    (call vault_serch)))"""
    assert refuse(text) == [
        "1:7: a name has at most 60 lowercase letters, digits and hyphens: plan-then-do",
        "2:3: tree has no keyword :descriptoin; did you mean :description?",
        "3:18: there is no decision tree 'quik'; did you mean 'quick'?",
        "4:40: there is no kind 'strng'; did you mean 'string'?",
        "6:5: there is no node 'repeeter'; did you mean 'repeater'?",
        "7:13: turn has no keyword :sya; did you mean :say?",
        "7:29: expected one of :all, :reading, :none, or a list of names; did you mean :reading?",
        "7:43: there is no blackboard key :topic; did you mean :topics?",
        "8:17: there is no function 'lenn'; did you mean 'len'?",
        "8:32: there is no 'tokens'; if it is a text, put it in quotes",
        "9:14: there is no field 'topic'; did you mean 'topics'?",
        "9:26: this bracket has no partner",
        "10:11: there is no reason 'max_iteration' for which a behaviour may stop; did you mean "
        "'max_iterations'?",
        "11:11: there is no tool 'vault_serch'; did you mean 'vault_search'?",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("word", '1:1: a behaviour begins with (tree "its name"'),
        ("(three)", '1:1: a behaviour begins with (tree "its name"'),
        ("(tree (succeed))", '1:1: a behaviour has a name in quotes: (tree "plan-then-do"'),
        ('(tree "a")', "1:1: tree has one node, not 0"),
        ('(tree "a" (succeed) (fail))', "1:21: tree has one node, not 2"),
        ('(tree "a" 3 (succeed))', "1:11: this does not belong in tree"),
        ('(tree "a" :finally 3 (succeed))', "1:11: :finally has a node after it"),
        ('(tree "a" :description (succeed))', "1:11: :description has a value after it"),
    ],
)
def test_a_text_that_is_no_tree_is_refused(text: str, problem: str) -> None:
    assert problem in refuse(text)


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ("()", "2:1: a node begins with its kind, such as (sequence"),
        ("(sequence)", "2:1: sequence has at least one node inside"),
        ("(repeater (fail) (fail))", "2:1: repeater has one node inside, not 2"),
        ("(succeed (fail))", "2:10: succeed has no nodes inside"),
        ("(succeed 3)", "2:10: this does not belong in succeed"),
        ("(decorator (fail))", "2:1: decorator needs a name"),
        ("(for-each (fail))", "2:1: for-each needs a list, such as (blackboard :topics)"),
        ("(for-each (blackboard :plan) (fail))", "2:11: expected a list, not a text"),
        ("(set :plan)", "2:1: set needs a key of the blackboard"),
        ("(set :plan 3)", "2:6: :plan is a text, and a number is written to it"),
        ("(set :plan (fail))", "2:12: expected a value, not a node"),
        (
            "(set :plan (blakboard :plan))",
            "2:12: expected a value, not a node; did you mean 'blackboard'?",
        ),
        ("(set :plan (blackboard))", "2:12: blackboard takes one value"),
        (
            "(set :plan (blackboard plan))",
            "2:24: expected a key of the blackboard, such as :plan",
        ),
        (
            "(set :depth (config :max_turns))",
            "2:21: there is no limit :max_turns; did you mean :max_iterations?",
        ),
        ("(set :plan yes)", "2:12: 'yes' is not a value: put text in quotes"),
        ("(set :plan (expr 3))", "2:18: put an expression in quotes"),
        ("(set :depth 3 :most 2)", "2:21: :most applies only to a list"),
        ("(notify)", "2:1: notify needs a text in quotes"),
        ("(turn :say 3)", "2:12: expected a text in quotes"),
        ("(turn :say)", "2:7: :say has no value"),
        ('(turn :say "a" :say "b")', "2:16: :say is given twice"),
        ('(turn :interim "")', "2:16: expected a text of at most 40 characters"),
        ("(turn :timeout 0)", "2:16: expected a number from 1 to 3,600"),
        ('(turn :timeout "a")', "2:16: expected a number, not a text"),
        (
            "(turn :tools [vault_read vault_raed])",
            "2:26: there is no tool 'vault_raed'; did you mean 'vault_read'?",
        ),
        ("(turn :into :depth)", "2:13: :depth is a number, and a text is written to it"),
        ("(action x :fn 3)", "2:15: expected a text of at most 100 characters"),
        ("(call vault_read :args 3)", "2:24: expected a map: {:key value}"),
        ("(call vault_read :args {:a 1 :a 2})", "2:30: :a is given twice"),
        ("(call vault_read :args {:a})", "2:25: this has no value"),
        ('(call vault_read :args {"a" 1})', "2:25: expected a keyword, such as :key"),
        ("(stop completed)", f"2:7: {NO_REASON.format('completed')}"),
        ("(stop nonsense)", f"2:7: {NO_REASON.format('nonsense')}"),
        ("(repeater :max-iterations 5000 (fail))", "2:27: expected a number from 1 to 1,000"),
        (
            "(repeater :until-success :until-failure (fail))",
            "2:1: give :until-success or :until-failure, not both",
        ),
        (
            "(parallel :policy :require-al (call vault_read))",
            "2:19: expected one of :require-all, :require-one, :continue-on-failure; did you "
            "mean :require-all?",
        ),
    ],
)
def test_each_kind_of_node_is_checked(node: str, problem: str) -> None:
    assert problem in refuse_node(node)


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        (
            "(parallel (turn))",
            "2:11: turn cannot stand in a parallel: a conversation has one speaker",
        ),
        (
            "(parallel (sequence (call vault_read)))",
            "2:11: sequence cannot stand in a parallel: only calls run side by side",
        ),
        (
            "(parallel (for-each (blackboard :names) (for-each [1 2] (call vault_read))))",
            "2:41: for-each cannot stand in a parallel: only calls run side by side",
        ),
        (
            "(parallel (call vault_read) (for-each (blackboard :names) (call vault_read)))",
            "2:29: a parallel has calls, or one for-each: not both",
        ),
        (
            "(parallel (call vault_read :into :plan))",
            "2:34: parallel calls have no :into: use a for-each to gather their results",
        ),
        (
            "(parallel (for-each (blackboard :names) (call vault_read :into :plan)))",
            "2:64: :plan is a text, and a list is written to it",
        ),
        ("(llm-call)", "2:1: llm-call needs a checkpoint: put it into (decorator budget-check …)"),
        (
            "(decorator budget-check (sequence (llm-call) (llm-call)))",
            "2:46: a second llm-call under one budget-check: each has a checkpoint of its own",
        ),
        (
            "(decorator budget-check (repeater (llm-call)))",
            "2:35: llm-call needs a checkpoint: put it into (decorator budget-check …)",
        ),
        (
            "(decorator budget-check (repeater (turn)))",
            "2:35: turn has a checkpoint of its own: take it out of budget-check",
        ),
        (
            "(decorator budget-check (decorator budget-check (llm-call)))",
            "2:25: budget-check cannot be used here: one is enough",
        ),
        ("(succeed) :finally (turn)", "2:20: turn cannot stand in :finally: the run is over then"),
        (
            '(decorator guard :when "depht > 1" (succeed))',
            "2:25: there is no 'depht'; did you mean 'depth'?",
        ),
        ("(decorator retry :times 50 (succeed))", "2:1: retry: :times is a number from 1 to 20"),
        (
            '(decorator budget-check (llm-call :model "other"))',
            "2:42: only :main or (blackboard :key) can stand here: the run's own",
        ),
    ],
)
def test_what_cannot_stand_here_is_refused(node: str, problem: str) -> None:
    assert refuse_node(node) == [problem]


def test_a_problem_inside_of_a_text_is_told_where_it_stands_in_the_file() -> None:
    assert refuse_node('(condition "(lower(plan) == \\"a\\" and\n depht > 2)")') == [
        "3:2: there is no 'depht'; did you mean 'depth'?"
    ]
    assert refuse_node('(notify "Plan\\n{plam}")') == [
        "2:16: there is no field 'plam'; did you mean 'plan'?"
    ]


# -- behaviours in behaviours ---------------------------------------------------------------------


def test_another_behaviour_is_handed_values_and_gives_some_back() -> None:
    node = "(subtree helper :with {:task (blackboard :plan)} :into {:topics :found})"
    root = read(node).root
    assert root.behaviour is not None
    assert root.behaviour.name == "helper"
    assert [one.number for one in root.walk()] == [1, 2]
    assert list(root.options["with"]) == ["task"]
    assert root.options["into"] == {"topics": "found"}


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ("(subtree helpr)", "2:10: there is no behaviour 'helpr'; did you mean 'helper'?"),
        ("(subtree helper :with {:taks 1})", "2:23: helper has no key :taks; did you mean :task?"),
        ("(subtree helper :with {:task 1})", "2:30: expected a text, not a number"),
        (
            "(subtree helper :into {:plam :task})",
            "2:23: there is no blackboard key :plam; did you mean :plan?",
        ),
        (
            "(subtree helper :into {:plan :tsak})",
            "2:30: there is no blackboard key :tsak; did you mean :task?",
        ),
        (
            "(subtree helper :into {:plan :found})",
            "2:30: :plan is a text, and :found of helper is a list",
        ),
        (
            "(subtree x :with {:a 1} (succeed))",
            "2:18: only another behaviour has keys of its own: these nodes share them all",
        ),
        (
            "(subtree bad)",
            "2:10: the behaviour 'bad' has a problem at 2:9: turn has no keyword "
            ":sya; did you mean :say?",
        ),
        (
            "(subtree own)",
            "2:10: the behaviour 'own' has a problem at 1:22: own would be in itself: own → own",
        ),
        (
            "(subtree a)",
            "2:10: the behaviour 'a' has a problem at 1:20: the behaviour 'b' has a "
            "problem at 1:40: a would be in itself: a → b → a",
        ),
        (
            "(decorator budget-check (subtree helper))",
            "2:34: the behaviour 'helper' has a problem "
            "at 1:56: turn has a checkpoint of its own: take it out of budget-check",
        ),
    ],
)
def test_what_is_wrong_with_another_behaviour_is_told(node: str, problem: str) -> None:
    assert refuse_node(node) == [problem]


def test_a_behaviour_cannot_be_in_itself() -> None:
    assert refuse('(tree "mine" (subtree mine))') == ["1:23: mine would be in itself: mine → mine"]


def test_the_nodes_of_all_behaviours_together_are_bounded() -> None:
    many = "(succeed) " * MAX_NODES
    (problem,) = refuse_node(f"(sequence {many})")
    assert problem.endswith(
        f"there are more than {MAX_NODES} nodes, with those of the behaviours it names"
    )
    assert read("(subtree wide)").root.behaviour is not None
    (problem,) = refuse_node("(subtree twice)")
    assert f"there are more than {MAX_NODES} nodes" in problem


@pytest.mark.parametrize("part", ["{a}", "{", "}", "{question}{"])
def test_a_text_full_of_wrong_fields_is_refused_in_time_that_grows_with_it(part: str) -> None:
    def build(size: int) -> str:
        return f'(tree "a" (notify "{part * (size // len(part))}"))'

    def refuse(text: str) -> int:
        with pytest.raises(InvalidBehaviour) as refused:
            read_behaviour(text)
        return len(refused.value.problems)

    assert refuse(build(20_000)) == 50
    assert_in_proportion(refuse, build, size=20_000)


def test_what_names_itself_many_times_over_takes_no_longer() -> None:
    known = {}
    for number in range(40):
        inner = f"(subtree n{number + 1})"
        known[f"n{number}"] = f'(tree "n{number}" (sequence {inner} {inner}))'
    with pytest.raises(InvalidBehaviour):
        read_behaviour(known["n0"], BehaviourVocabulary(behaviours=known))


# -- the arguments of calls -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "problems"),
    [
        (
            '(call vault_search\n    :args {:query "x"})',
            ["2:3: vault_search needs :queries", "3:12: vault_search takes no :query; did you"],
        ),
        (
            '(call vault_search :args {:queries ["x"]\n  :limit "3"})',
            ["3:10: vault_search takes a number as :limit, not a text"],
        ),
        (
            '(call vault_search :args {:queries ["x"] :limit 3000})',
            ["2:51: vault_search refuses this as :limit: Input should be less than or equal to"],
        ),
        (
            "(call vault_read :args {:path (blackboard :depth)})",
            ["2:33: vault_read takes a text as :path, not a number"],
        ),
        ("(call vault_read :args {:path nil})", ["2:33: vault_read refuses this as :path: "]),
        ('(call vault_write :args {:path "{plan}.md"})', ["2:3: vault_write needs :body"]),
        ("(call vault_read)", ["2:3: vault_read needs :path"]),
        ('(call vault_read :args {:path "{plan}.md" :lines "1-3"})', []),
        ("(call vault_search :args {:queries (lines (blackboard :plan))})", []),
        ("(call vault_list)", []),
    ],
)
def test_the_arguments_of_a_call_are_checked_where_they_stand(
    call: str, problems: list[str]
) -> None:
    text = f'(tree "mine" :blackboard-schema {{:plan "" :depth 3}}\n  {call})'
    try:
        read_behaviour(text, BehaviourVocabulary(tools=registry.list_parameters()))
        found: list[str] = []
    except InvalidBehaviour as error:
        found = [str(problem) for problem in error.problems]
    for problem in problems:
        assert any(one.startswith(problem) for one in found), found
    assert bool(found) is bool(problems)
