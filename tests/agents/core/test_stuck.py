"""Is the agent getting anywhere?"""

import gzip
import hashlib
import io
import json
import shlex
import subprocess
import sys
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.stuck import (
    ProgressTracker,
    StuckRules,
    TurnAction,
    action_signature,
    build_action,
    canonicalize_arguments,
    detect_no_progress,
    digest,
    find_stuck_turn,
    join_signatures,
    main,
    normalise,
)

ROOT = Path(__file__).resolve().parents[3]
TRACES = ROOT.parent / "shared" / "traces"

TEXT = TurnAction("")
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=10)
arguments = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=5,
    ),
    max_size=4,
)


def look(results: str = "same", *, writes: bool = False, action: str = "look:{}") -> TurnAction:
    return TurnAction(action, results, normalise(results), writes)


def rows(*steps: TurnAction) -> list[str | None]:
    """What the track says after each of the steps."""
    track, said = ProgressTracker(), []
    for step in steps:
        track = track.with_step(step)
        said.append(track.stuck_rule)
    return said


# -- rule 1: identical ----------------------------------------------------------------------------


def test_three_identical_turns_are_stuck_and_two_are_not() -> None:
    assert rows(look(), look(), look()) == [None, None, "identical"]


def test_polling_is_progress() -> None:
    """The same action with another result each time, for ever."""
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    assert rows(*[look(word) for word in words]) == [None] * 8


def test_identical_compares_results_exactly() -> None:
    assert rows(*[look(f"line {n}") for n in range(3)]) == [None] * 3


def test_another_action_between_breaks_the_row() -> None:
    other = look(action="find:{}")
    assert rows(look(), look(), other, look(), look())[-1] is None


def test_another_result_between_breaks_the_row() -> None:
    assert rows(look(), look(), look("new"), look(), look())[-1] is None


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        ((), False),
        (("a", "a"), False),
        (("a", "a", "a"), True),
        (("a", "b", "a"), False),
        (("b", "a", "a", "a"), True),
        (("a", "a", "a", "b"), False),
    ],
)
def test_three_equal_calls_are_asked_about(actions: tuple[str, ...], found: bool) -> None:
    assert detect_no_progress(actions) is found


# -- rule 2: writing ------------------------------------------------------------------------------


def test_four_writing_turns_in_a_row_are_stuck_whatever_they_return() -> None:
    steps = [look(word, writes=True) for word in ("one", "two", "three", "four")]
    assert rows(*steps) == [None, None, None, "writing"]


def test_three_writing_turns_with_different_results_are_not_stuck() -> None:
    steps = [look(word, writes=True) for word in ("one", "two", "three")]
    assert rows(*steps, look("four", writes=True, action="write:{2}"))[-1] is None


def test_reading_four_times_is_not_writing() -> None:
    assert rows(*[look(word) for word in ("one", "two", "three", "four")]) == [None] * 4


# -- rule 3: cycles -------------------------------------------------------------------------------


@pytest.mark.parametrize("period", [2, 3, 4, 7])
def test_five_known_turns_in_a_row_are_a_cycle_of_any_period(period: int) -> None:
    steps = [look(action=f"a{n}") for n in range(period)]
    said = rows(*islice(cycle(steps), period + 5))
    assert said == [None] * (period + 4) + ["cycle"]


def test_a_new_pair_begins_the_count_again() -> None:
    a, b, c = (look(action=name) for name in "abc")
    said = rows(a, b, a, b, a, b, c, a, b, a, b)
    assert said == [None] * 11
    assert rows(a, b, a, b, a, b, c, a, b, a, b, a)[-1] == "cycle"


def test_a_cycle_sees_through_what_changes_by_itself() -> None:
    steps = [
        TurnAction(action, digest(result), digest(normalise(result)))
        for n in range(7)
        for action, result in [("ab"[n % 2], f"took {n * 13} ms, id {n:07x}0")]
    ]
    assert rows(*steps) == [None] * 6 + ["cycle"]


def test_a_known_action_with_a_new_result_is_progress() -> None:
    steps = [look(chr(97 + n) * 3, action="ab"[n % 2]) for n in range(20)]
    assert rows(*steps) == [None] * 20


# -- rule 4: the same results, whatever is asked --------------------------------------------------


def ask(
    number: int, result: str = "nothing", *, writes: bool = False, ok: bool = True
) -> TurnAction:
    calls = [(f'find:{{"q":{number}}}', result)]
    return build_action(calls, writes=writes, has_written=writes and ok)


def test_seven_turns_of_other_questions_with_the_same_results_are_stuck() -> None:
    assert rows(*map(ask, range(7))) == [None] * 6 + ["answers"]


def test_another_result_or_a_turn_of_text_begins_the_count_again() -> None:
    steps = [*map(ask, range(6)), ask(6, "a page"), *map(ask, range(7, 13))]
    assert rows(*steps) == [None] * 13
    assert rows(*map(ask, range(6)), TEXT, *map(ask, range(6, 12))) == [None] * 13


def test_what_is_written_is_progress_and_what_fails_to_be_is_not() -> None:
    saved = [ask(number, "saved", writes=True) for number in range(12)]
    assert rows(*saved) == [None] * 12
    failed = [ask(number, "no such line", writes=True, ok=False) for number in range(7)]
    assert rows(*failed)[-1] == "answers"


def test_recordings_without_it_are_judged_without_it() -> None:
    old = [replace(ask(number), answers="") for number in range(12)]
    assert rows(*old) == [None] * 12


# -- other numbers of turns -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "stuck_at"),
    [
        (StuckRules(), 3),
        (StuckRules(identical=2), 2),
        (StuckRules(identical=0), 4),
        (StuckRules(identical=0, writing=0), 6),
        (StuckRules(identical=0, writing=0, known=0), 7),
        (StuckRules(identical=0, writing=0, known=0, answers=0), None),
    ],
)
def test_each_rule_can_be_set_and_switched_off(rules: StuckRules, stuck_at: int | None) -> None:
    track, found = ProgressTracker(rules=rules), None
    for number in range(1, 21):
        track = track.with_step(replace(look(writes=True), answers="same"))
        found = found or (number if track.stuck_rule else None)
    assert found == stuck_at


def test_rules_outlive_a_turn_of_text() -> None:
    rules = StuckRules(identical=2)
    assert ProgressTracker(rules=rules).with_step(look()).with_step(TEXT).rules is rules


@pytest.mark.parametrize("turns", [-1, 1, 51, 2.5, "3", None, True])
@pytest.mark.parametrize("name", ["identical", "writing", "known", "answers"])
def test_rules_out_of_bounds_cannot_be_built(name: str, turns: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}: must be a whole number from 2 to 50, or 0"):
        StuckRules(**{name: turns})


# -- text turns -----------------------------------------------------------------------------------


def test_a_turn_of_text_breaks_a_row_of_identical_turns() -> None:
    assert rows(look(), look(), TEXT, look(), look())[-1] is None
    assert rows(look(), look(), TEXT, look(), look(), look())[-1] == "identical"


def test_a_turn_of_text_breaks_a_row_of_writing() -> None:
    steps = [look(word, writes=True) for word in ("one", "two", "three", "four", "five")]
    assert rows(*steps[:3], TEXT, *steps[3:])[-1] is None


def test_a_turn_of_text_breaks_a_cycle_but_nothing_is_forgotten() -> None:
    a, b = look(action="a"), look(action="b")
    assert rows(a, b, a, b, a, b, TEXT, a)[-1] is None
    assert rows(a, b, TEXT, a, b, a, b, a)[-1] == "cycle"


def test_text_alone_is_never_stuck() -> None:
    assert rows(*[TEXT] * 20) == [None] * 20


@given(st.lists(st.sampled_from(["", "a", "b"]), max_size=20))
def test_a_text_turn_always_ends_whatever_was_going_on(actions: list[str]) -> None:
    track = ProgressTracker()
    for action in actions:
        track = track.with_step(look(action=action) if action else TEXT)
    after = track.with_step(TEXT)
    assert after.stuck_rule is None
    assert (after.same_action, after.same_results, after.known_row) == (0, 0, 0)


# -- actions --------------------------------------------------------------------------------------


@given(arguments, st.randoms(use_true_random=False))
def test_argument_order_and_white_space_never_matter(given_: dict[str, Any], random: Any) -> None:
    items = list(given_.items())
    random.shuffle(items)
    spaced = json.loads(json.dumps(dict(items), indent=3))
    assert action_signature("look", spaced) == action_signature("look", given_)


@given(arguments, arguments)
def test_different_arguments_are_different_calls(first: Any, second: Any) -> None:
    same = json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
    assert (action_signature("look", first) == action_signature("look", second)) is same


def test_white_space_does_not_matter_in_arguments_that_are_no_json() -> None:
    assert canonicalize_arguments('{"a":\n  1,') == canonicalize_arguments(' {"a": 1,')


def test_long_arguments_are_cut_and_still_told_apart() -> None:
    one, two = (action_signature("write", {"text": "x" * 5_000 + end}) for end in "ab")
    assert len(one) < 250
    assert one != two


def test_an_action_is_a_multiset_of_calls() -> None:
    assert join_signatures(["b", "a"]) == join_signatures(["a", "b"])
    assert join_signatures(["a", "a", "b"]) != join_signatures(["a", "b", "b"])
    assert join_signatures(["a", "a"]) != join_signatures(["a"])


calls = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2"])), max_size=5)


@given(calls, st.randoms(use_true_random=False))
def test_the_order_of_calls_within_a_turn_does_not_matter(
    made: list[tuple[str, str]], random: Any
) -> None:
    shuffled = list(made)
    random.shuffle(shuffled)
    assert build_action(made, writes=False) == build_action(shuffled, writes=False)


@given(calls, calls)
def test_steps_are_equal_when_their_calls_and_results_are(
    first: list[tuple[str, str]], second: list[tuple[str, str]]
) -> None:
    same = sorted(first) == sorted(second)
    assert (build_action(first, writes=False) == build_action(second, writes=False)) is same


def test_results_that_change_places_are_another_result() -> None:
    one = build_action([("a", "1"), ("b", "2")], writes=False)
    two = build_action([("a", "2"), ("b", "1")], writes=False)
    assert one.action == two.action
    assert one.results != two.results


def test_a_turn_without_calls_is_the_empty_step() -> None:
    assert build_action([], writes=True) == TEXT


def test_lone_surrogates_can_be_digested() -> None:
    assert build_action([("look", "\ud800")], writes=False).results


# -- normalising ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("took 12 ms", "took 4711 ms"),
        ("a  b\n\tc ", "a b c"),
        ("commit 3f2b8c1e", "commit 9d4a77b0"),
        ("commit 3F2B8C1E", "commit 9d4a77b0"),
        ("2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z"),
        ("run 3f2b8c1e-9d4a-4b6f-8a2e-1c5d7e9f0a3b", "run 0a1b2c3d-1e2f-4a5b-9c8d-7e6f5a4b3c2d"),
        ("<object at 0x7f3a2c41>", "<object at 0x10e9b8d0>"),
    ],
)
def test_what_changes_by_itself_is_normalised(one: str, two: str) -> None:
    assert normalise(one) == normalise(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [("found in a.md", "found in b.md"), ("no hits", "one hit"), ("defaced", "effaced")],
)
def test_words_are_not_normalised_away(one: str, two: str) -> None:
    assert normalise(one) != normalise(two)


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


# -- loops worth a notice -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "loops"),
    [("aa", False), ("aaa", True), ("ababa", True), ("abacda", True), ("abaxxxa", False)],
)
def test_an_action_three_times_within_six_turns_loops(actions: str, loops: bool) -> None:
    track = ProgressTracker()
    for number, action in enumerate(actions):
        track = track.with_step(look(str(number), action=action))
    assert track.is_looping is loops


# -- the command ----------------------------------------------------------------------------------


def recorded(*results: str, write: bool = False, name: str = "look") -> list[dict[str, Any]]:
    return [
        {
            "calls": [
                {
                    "name": name,
                    "args": "sha1:1",
                    "ok": True,
                    "result_sha": result,
                    "result_nsha": result,
                    "write": write,
                }
            ]
        }
        for result in results
    ]


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([], (None, None)),
        (recorded("r", "r"), (None, None)),
        (recorded("r", "r", "r", "r"), (3, "identical")),
        (recorded("1", "2", "3", "4", write=True), (4, "writing")),
        ((recorded("r") + recorded("r", name="find")) * 4, (7, "cycle")),
        ([*recorded("r", "r"), {"calls": []}, *recorded("r", "r")], (None, None)),
    ],
)
def test_recorded_runs_are_read_with_the_same_rules(
    turns: list[dict[str, Any]], found: tuple[int | None, str | None]
) -> None:
    assert find_stuck_turn(turns) == found


def test_the_command_answers_every_run_on_a_line() -> None:
    runs = [
        {"id": "stuck", "turns": recorded("r", "r", "r")},
        {"id": "fine", "turns": recorded("1", "2", "3")},
        {"id": "empty", "turns": []},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "agents.core.stuck"],
        input="\n".join(map(json.dumps, runs)) + "\n\n",
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"id": "stuck", "fired_at_turn": 3, "rule": "identical"},
        {"id": "fine", "fired_at_turn": None, "rule": None},
        {"id": "empty", "fired_at_turn": None, "rule": None},
    ]


def test_the_command_of_no_runs_says_nothing() -> None:
    out = io.StringIO()
    main(io.StringIO("\n"), out)
    assert out.getvalue() == ""


@pytest.mark.skipif(
    not (TRACES / "dev.jsonl.gz").exists(), reason="the recorded runs (shared/traces) are not here"
)
@pytest.mark.parametrize("half", [0, 1], ids=["chosen on", "held out"])
def test_the_rule_of_same_results_finds_near_repeats_in_either_half_of_the_tasks(half: int) -> None:
    """Its number of turns was chosen on the first half. In neither does it stop a run that made
    progress, or succeeded, and that the others let go on."""
    with gzip.open(TRACES / "dev.jsonl.gz", "rt") as lines:
        runs = [run for run in map(json.loads, lines) if half_of(run["task"]) == half]
    without = StuckRules(answers=0)
    more = [
        run
        for run in runs
        if find_stuck_turn(run["turns"])[0] and not find_stuck_turn(run["turns"], without)[0]
    ]
    near = [run for run in runs if run["stuck_kind"] == "near"]
    assert len(near) == 10
    assert sum(run in more for run in near) >= 5
    assert not [run for run in more if run["label"] == "progress" or run["success"]]


def half_of(task: str) -> int:
    return int(hashlib.sha256(f"split{task}".encode()).hexdigest(), 16) % 2


@pytest.mark.skipif(
    not (TRACES / "dev.jsonl.gz").exists(), reason="the recorded runs (shared/traces) are not here"
)
def test_loops_of_real_agents_are_found_with_few_false_alarms() -> None:
    command = f"{shlex.quote(sys.executable)} -m agents.core.stuck"
    done = subprocess.run(
        [
            *[sys.executable, str(TRACES / "score.py"), "--json"],
            *["--kinds", "exact,volatile,cycle", "--cmd", command],
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    score = json.loads(done.stdout)
    assert score["accuracy"] >= 96.5
    assert score["FPR"] <= 2.5
