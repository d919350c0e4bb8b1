"""Words that packages register, and what is known of them."""

from dataclasses import dataclass
from typing import Any

import pytest

from agents.core.behaviours import BehaviourVocabulary, InvalidBehaviour, read_behaviour
from agents.core.behaviours.words import WordRegistry
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind
from agents.core.registry import RegistrationError


@pytest.fixture
def words() -> WordRegistry:
    words = WordRegistry()

    @words.action("notes.count")
    def count(
        run: object, folder: str, tags: list[str], depth: int = 1, deep: bool = False
    ) -> bool:
        """Count the notes.

        In a folder.
        """
        return True

    @words.condition("is-late?")
    def is_late(run: object) -> bool:
        return True

    @words.decorator("slowly")
    @dataclass
    class Slowly:
        speed: float
        very: bool = False

        def __post_init__(self) -> None:
            if self.speed > 1:
                raise ValueError("this is not slow")

    return words


def refuse(node: str, words: WordRegistry) -> list[str]:
    with pytest.raises(InvalidBehaviour) as caught:
        read_behaviour(f'(tree "mine" {node})', BehaviourVocabulary(words=words))
    return [problem.message for problem in caught.value.problems]


def accept(node: str, words: WordRegistry) -> Any:
    return read_behaviour(f'(tree "mine" {node})', BehaviourVocabulary(words=words)).root


def test_what_a_word_takes_is_known_from_its_annotations(words: WordRegistry) -> None:
    word = words.find("action", "notes.count")
    assert word is not None
    assert word.about == "Count the notes."
    assert {name: (one.kind, one.is_required) for name, one in word.parameters.items()} == {
        "folder": (TEXT, True),
        "tags": (ListKind(ANY), True),
        "depth": (NUMBER, False),
        "deep": (TRUTH, False),
    }


def test_words_are_used_as_they_say(words: WordRegistry) -> None:
    node = accept('(action count :fn "notes.count" :args {:folder "a" :tags [] :deep true})', words)
    assert node.word is words.find("action", "notes.count")
    assert accept("(condition is-late?)", words).word is words.find("condition", "is-late?")
    node = accept("(decorator slowly :speed 0.5 :very (succeed))", words)
    assert node.subject == {"speed": 0.5, "very": True}


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ("(action notes.cout)", "there is no action 'notes.cout'; did you mean 'notes.count'?"),
        ("(action is-late?)", "there is no action 'is-late?'"),
        ("(condition is-lat?)", "there is no condition 'is-lat?'; did you mean 'is-late?'?"),
        ("(decorator slow (succeed))", "there is no decorator 'slow'; did you mean 'slowly'?"),
        ("(action notes.count :args {:tags []})", "notes.count needs :folder"),
        (
            '(action notes.count :args {:folder "a" :tags [] :deph 2})',
            "notes.count takes no :deph; did you mean :depth?",
        ),
        (
            '(action notes.count :args {:folder "a" :tags [] :depth "2"})',
            "notes.count takes a number as :depth, not a text",
        ),
        ("(decorator slowly (succeed))", "slowly needs :speed"),
        ('(decorator slowly :speed "a" (succeed))', "expected a number, not a text"),
        ("(decorator slowly :speed 2 (succeed))", "slowly: this is not slow"),
        (
            "(decorator slowly :speed 1 :vey (succeed))",
            "decorator has no keyword :vey; did you mean :very?",
        ),
        (
            '(decorator slowly :speed (expr "1 + 1") (succeed))',
            "this must be known before a run: write the value itself",
        ),
    ],
)
def test_words_are_checked_where_they_are_named(
    node: str, problem: str, words: WordRegistry
) -> None:
    assert refuse(node, words) == [problem]


def test_a_name_is_taken_once_for_each_type(words: WordRegistry) -> None:
    words.action("is-late?")(lambda run: True)
    with pytest.raises(RegistrationError, match="'condition is-late\\?' is registered twice"):
        words.condition("is-late?")(lambda run: True)


def test_a_parameter_of_no_known_kind_is_refused(words: WordRegistry) -> None:
    def unknown(run: object, when: object) -> None: ...
    def many(run: object, *rest: str) -> None: ...

    for use in (unknown, many, lambda run, when: None):
        with pytest.raises(RegistrationError, match="of no known kind: annotate it as str"):
            words.action("odd")(use)
