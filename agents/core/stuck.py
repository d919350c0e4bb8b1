"""Detect runs without progress: action signatures, result digests and the four stuck rules.

As a command it reads recorded runs, one JSON object a line, and says where each is stuck:

    python -m agents.core.stuck < runs.jsonl
"""

import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

IDENTICAL_TURNS = 3
"""Rule 1: the same action with exactly the same results, this many turns in a row."""
WRITING_TURNS = 4
"""Rule 2: the same writing action this many turns in a row, whatever it returns."""
KNOWN_TURNS = 5
"""Rule 3: this many tool turns in a row that only repeat what already occurred."""
SAME_ANSWERS_TURNS = 7
"""Rule 4: exactly the same results this many turns in a row, whatever was called, while nothing is
written."""
RULE_BOUNDS = (2, 50)
"""How many turns a stuck rule may ask for."""
LOOP_WINDOW = 6
LOOP_COUNT = 3
"""The same pattern this often within the window is worth a notice, in a row or not."""
KEY_ARGUMENTS = frozenset({"path", "file_path", "query", "queries", "thread", "thread_id"})
"""What a call is about: two calls with the same ones are of one pattern."""
RANGE_ARGUMENTS = frozenset({"lines", "start_line", "end_line", "offset", "position"})
"""They belong to a path or a thread: reading on in one is no loop."""
_RANGED = frozenset({"path", "file_path", "thread", "thread_id"})

ERROR_LIMIT = 3
"""Tool errors in a row, call by call, that end a run."""
MAX_BATCH_ERRORS = 2
"""Errors that one batch may add: the model has always seen one before it is stopped for them."""

_MAX_SIGNATURE_LENGTH = 160
_VOLATILE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # UUIDs
    r"|\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{6,}\b|\d+",  # addresses, hex ids, numbers
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class StuckRules:
    """How many turns each rule takes before it says that a run is stuck; 0 switches it off."""

    identical: int = IDENTICAL_TURNS
    writing: int = WRITING_TURNS
    known: int = KNOWN_TURNS
    answers: int = SAME_ANSWERS_TURNS

    def __post_init__(self) -> None:
        low, high = RULE_BOUNDS
        for name in self.__slots__:
            turns = getattr(self, name)
            if type(turns) is not int or (turns and not low <= turns <= high):
                raise ValueError(
                    f"{name}: must be a whole number from {low} to {high}, or 0 for off."
                )


DEFAULT_STUCK_RULES = StuckRules()


@dataclass(frozen=True, slots=True)
class TurnAction:
    """What one turn did and what came of it. `action` is empty for a turn without tool calls."""

    action: str
    results: str = ""
    results_normalised: str = ""
    writes: bool = False
    answers: str = ""
    """Of the results alone, whatever was called, without those that only say that a call was taken;
    empty for a turn that has written."""
    pattern: str = ""
    """What the calls were about, as a digest; empty: as the action says."""


@dataclass(frozen=True, slots=True)
class ProgressTracker:
    """What has to be remembered of a run's steps to see that it is stuck."""

    recent: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    """Of the same turns as `recent`."""
    same_pattern: int = 0
    """How often the newest pattern is among them."""
    last_results: str = ""
    same_action: int = 0
    same_results: int = 0
    known_row: int = 0
    answers: tuple[str, int] = ("", 0)
    """The last results whatever was called, and how many turns in a row had them."""
    stuck_rule: str | None = None
    """The name of the rule that says the run is stuck."""
    seen: frozenset[tuple[str, str]] = frozenset()
    rules: StuckRules = DEFAULT_STUCK_RULES

    def with_step(self, step: TurnAction) -> "ProgressTracker":
        recent = (*self.recent, step.action)[-LOOP_WINDOW:]
        pattern = step.pattern or step.action
        patterns = (*self.patterns, pattern)[-LOOP_WINDOW:]
        if not step.action:
            return ProgressTracker(
                recent=recent, patterns=patterns, seen=self.seen, rules=self.rules
            )
        repeats = bool(self.recent) and self.recent[-1] == step.action
        pair = (step.action, step.results_normalised)
        same_action = self.same_action + 1 if repeats else 1
        is_same = repeats and self.last_results == step.results
        same_results = self.same_results + 1 if is_same else 1
        known_row = self.known_row + 1 if pair in self.seen else 0
        answers, before = step.answers, self.answers
        same_answers = before[1] + 1 if answers == before[0] else 1
        rules, stuck_rule = self.rules, None
        if same_results >= rules.identical > 0:
            stuck_rule = "identical"
        elif step.writes and same_action >= rules.writing > 0:
            stuck_rule = "writing"
        elif known_row >= rules.known > 0:
            stuck_rule = "cycle"
        elif answers and same_answers >= rules.answers > 0:
            stuck_rule = "answers"
        return ProgressTracker(
            recent=recent,
            patterns=patterns,
            same_pattern=patterns.count(pattern),
            last_results=step.results,
            same_action=same_action,
            same_results=same_results,
            known_row=known_row,
            answers=(answers, same_answers),
            stuck_rule=stuck_rule,
            seen=self.seen | {pair},
            rules=rules,
        )

    @property
    def has_same_results(self) -> bool:
        """Whether the last turns did the same and got the same, as often as rule 1 asks for."""
        return self.same_results >= self.rules.identical > 0

    @property
    def last_action(self) -> str:
        """The newest action there was, or nothing."""
        return next((action for action in reversed(self.recent) if action), "")

    @property
    def is_looping(self) -> bool:
        """Whether calls of the newest pattern were made several times lately, in a row or not."""
        return self.same_pattern >= LOOP_COUNT

    def count_coming(self, pattern: str) -> int:
        """Return how often a pattern is in the window once a turn with it has followed."""
        return self.patterns[1 - LOOP_WINDOW :].count(pattern) + 1


def detect_no_progress(recent_actions: tuple[str, ...]) -> bool:
    """Return whether the last three calls were the same. Whether that is a loop depends on their
    results: the same question may have another answer each time."""
    if len(recent_actions) < 3:
        return False
    return recent_actions[-1] == recent_actions[-2] == recent_actions[-3]


def canonicalize_arguments(arguments: Mapping[str, Any] | str) -> str:
    """Return arguments as one string in which key order and white space do not matter."""
    if isinstance(arguments, str):
        return _SPACE.sub(" ", arguments).strip()
    return _CANONICAL.encode(arguments)


def action_signature(name: str, arguments: Mapping[str, Any] | str) -> str:
    """Return one call as a comparable, readable string; long arguments are cut, with a digest."""
    text = f"{name}:{canonicalize_arguments(arguments)}"
    return (
        text
        if len(text) <= _MAX_SIGNATURE_LENGTH
        else f"{text[:_MAX_SIGNATURE_LENGTH]}…#{digest(text)}"
    )


def call_pattern(name: str, arguments: Mapping[str, Any] | str, signature: str) -> str:
    """Return what a call is about: its name with its key arguments, or its whole signature where it
    has none."""
    if isinstance(arguments, str) or KEY_ARGUMENTS.isdisjoint(arguments):
        return signature
    keys = KEY_ARGUMENTS & arguments.keys()
    if not keys.isdisjoint(_RANGED):
        keys |= RANGE_ARGUMENTS & arguments.keys()
    if len(keys) == len(arguments):
        return signature
    return action_signature(name, {key: arguments[key] for key in keys})


def join_signatures(signatures: Iterable[str]) -> str:
    """Return what a turn did: the multiset of its calls."""
    return " | ".join(sorted(signatures))


def count_errors_at_end(oks: Iterable[bool]) -> int:
    """Count the errors after a batch's last success; one batch counts for two at the most."""
    errors = 0
    for ok in oks:
        errors = 0 if ok else errors + 1
    return min(errors, MAX_BATCH_ERRORS)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def normalise(text: str) -> str:
    """Return text without what changes by itself: numbers, hex ids, white space."""
    return _SPACE.sub(" ", _VOLATILE.sub("0", text)).strip()


def build_action(
    calls: Iterable[tuple[str, str]],
    *,
    writes: bool,
    has_written: bool | None = None,
    pattern: str = "",
    receipts: Collection[int] = (),
) -> TurnAction:
    """Return the step of a turn from its calls, each as (signature, result text). `has_written` is
    whether a call that writes has not failed, by default whether one writes; `receipts` are the
    places of calls whose result only says that they were taken."""
    pairs = list(calls)
    if not pairs:
        return TurnAction("")
    keys = [call for call, _ in pairs]
    digests = [digest(result) for _, result in pairs]
    has_written = writes if has_written is None else has_written
    answers = digests
    if receipts:
        answers = [one for place, one in enumerate(digests) if place not in receipts]
    return TurnAction(
        join_signatures(keys),
        _digest_results(keys, digests),
        _digest_results(keys, (digest(normalise(result)) for _, result in pairs)),
        writes,
        "" if has_written or not answers else _join_results(answers),
        pattern,
    )


# -- the command ----------------------------------------------------------------------------------


def action_from_trace(turn: Mapping[str, Any]) -> TurnAction:
    """Return a step from a recorded turn, in which arguments and results are digests already."""
    calls = turn["calls"]
    if not calls:
        return TurnAction("")
    keys = [f"{call['name']}:{call['args']}" for call in calls]
    results = [call["result_sha"] for call in calls]
    has_written = any(call["write"] for call in calls) and any(call["ok"] for call in calls)
    return TurnAction(
        join_signatures(keys),
        _digest_results(keys, results),
        _digest_results(keys, (call["result_nsha"] for call in calls)),
        any(call["write"] for call in calls),
        "" if has_written else _join_results(results),
    )


def _join_results(results: Sequence[str]) -> str:
    """Return what came of a turn without its calls: a digest already, if there was one result."""
    return results[0] if len(results) == 1 else digest("\x00".join(sorted(results)))


def _digest_results(keys: Iterable[str], results: Iterable[str]) -> str:
    """Return one digest of calls with their results, whatever order they came in."""
    return digest("\x00".join(sorted(f"{k}\x01{r}" for k, r in zip(keys, results, strict=True))))


def find_stuck_turn(
    turns: Iterable[Mapping[str, Any]], rules: StuckRules = DEFAULT_STUCK_RULES
) -> tuple[int | None, str | None]:
    """Return the first turn, counted from 1, at which a rule fires, and its name."""
    track = ProgressTracker(rules=rules)
    for number, turn in enumerate(turns, start=1):
        track = track.with_step(action_from_trace(turn))
        if track.stuck_rule:
            return number, track.stuck_rule
    return None, None


def main(lines: TextIO, out: TextIO) -> None:
    for line in lines:
        if line.strip():
            try:
                run = json.loads(line)
                turn, rule = find_stuck_turn(run["turns"])
            except (ValueError, KeyError, TypeError) as error:
                raise SystemExit(f"not a recorded run: {line[:80].strip()!r} ({error!r})") from None
            out.write(json.dumps({"id": run["id"], "fired_at_turn": turn, "rule": rule}) + "\n")


if __name__ == "__main__":
    main(sys.stdin, sys.stdout)
