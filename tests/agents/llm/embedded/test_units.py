"""The parts of the embedded model: how it reads notes, questions and conversations."""

import json
import re

import pytest

from agents.core.messages import ModelRequest
from agents.core.stemming import stem
from agents.llm.embedded.analysis import analyse, analyse_all
from agents.llm.embedded.compose import escape
from agents.llm.embedded.evidence import Evidence, parse_places
from agents.llm.embedded.passages import Passage, parse_note, split_sentences
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.request import Exchange, ParsedRequest, Step, list_quotes, parse_request
from agents.llm.embedded.vocabulary import compare_words, list_content_words


def read(text: str) -> list[Passage]:
    return parse_note("a.md", list(enumerate(text.split("\n"), start=1)))


# -- passages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Er kostet 1.150 Euro. Am 3. Juli.", ["Er kostet 1.150 Euro.", "Am 3. Juli."]),
        ("See e.g. Ada or Dr. Moss. Then go.", ["See e.g. Ada or Dr. Moss.", "Then go."]),
        ("He said “No.” Then left.", ["He said “No.”", "Then left."]),
        ("no end", ["no end"]),
        ("Version 1.0.2 works. 40 % do.", ["Version 1.0.2 works.", "40 % do."]),
    ],
)  # fmt: skip
def test_sentences_end_where_they_end(text: str, parts: list[str]) -> None:
    assert [part.strip() for _, part in split_sentences(text)] == parts


def test_a_note_becomes_units_with_their_places() -> None:
    found = read(
        "---\ntitle: Kites\ndate: 2026-01-02\n---\n# Kites\n\nA kite flies\nhigh. It is red.\n\n"
        "## Parts\n\nYou need:\n\n- a line\n- a tail that\n  is long\n\n"
        "| what | price |\n|---|---|\n| line | 3 |\n\n```\nfly()\n```\n"
    )
    assert [(unit.kind, unit.line, unit.text, unit.heading) for unit in found] == [
        ("property", 3, "date: 2026-01-02", ""),
        ("sentence", 7, "A kite flies high.", ""),
        ("sentence", 8, "It is red.", ""),
        ("sentence", 12, "You need:", "Parts"),
        ("item", 14, "a line", "Parts"),
        ("item", 15, "a tail that is long", "Parts"),
        ("row", 20, "line · price: 3", "Parts"),
        ("code", 22, "fly()", "Parts"),
    ]
    assert {unit.title for unit in found} == {"Kites"}
    assert found[2].before == found[1]
    assert found[4].lead == "You need:"


def test_callouts_lose_their_marks_and_a_bold_line_is_a_heading() -> None:
    found = read(
        "> [!info]+ Upgrade\n> Pay the price difference.\n>\n> - once\n\n"
        "**What if I miss a payment?**\nData are kept for 30 days.\n"
    )
    assert [(unit.kind, unit.line, unit.text, unit.heading) for unit in found] == [
        ("sentence", 1, "Upgrade", ""),
        ("sentence", 2, "Pay the price difference.", ""),
        ("item", 4, "once", ""),
        ("sentence", 7, "Data are kept for 30 days.", "What if I miss a payment?"),
    ]


@pytest.mark.parametrize(
    "text",
    ["", "---", "|", "|---|", "```", "- ", "#", "> ", "1.", "\t", "***", "| a\n|-\n|", "-\n-"],
)
def test_broken_markdown_is_read_to_its_end(text: str) -> None:
    assert isinstance(read(text), list)
    assert isinstance(read(f"{text}\n\ntext\n{text}"), list)


def test_tags_and_images_become_text_and_code_stays_code() -> None:
    assert escape("a <b> `<b>` ![x](y) 1 < 2") == "a \\<b> `<b>` \\![x](y) 1 < 2"


# -- questions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Who owns it?", Kind.WHO),
        ("When is it due?", Kind.WHEN),
        ("By when must it run?", Kind.WHEN),
        ("How many gauges are there?", Kind.NUMBER),
        ("What does it cost?", Kind.NUMBER),
        ("Why radar?", Kind.WHY),
        ("Where is the key?", Kind.WHERE),
        ("Where is the key mentioned?", Kind.MENTION),
        ("Which notes mention radar?", Kind.MENTION),
        ("How do I sign an image?", Kind.HOW),
        ("What happens when it stops?", Kind.HOW),
        ("List the parts", Kind.LIST),
        ("Which tasks are open?", Kind.LIST),
        ("Summarise the budget", Kind.SUMMARY),
        ("Compare A and B", Kind.COMPARE),
        ("Is it red?", Kind.YES_NO),
        ("List all notes", Kind.NOTES),
        ("Which tool writes large files?", Kind.WHAT),
        ("Which kinds of bread are there?", Kind.LIST),
        ("Wer baut es?", Kind.WHO),
        ("Wie viele sind es?", Kind.NUMBER),
        ("Warum Radar?", Kind.WHY),
        ("Wo steht das Passwort?", Kind.MENTION),
        ("Fasse den Plan zusammen", Kind.SUMMARY),
        ("Thanks!", Kind.TALK),
        ("2 + 2", Kind.CALCULATE),
        ("Calculate (2 - 3) * 4 please", Kind.CALCULATE),
        ("Is the phone answered 24/7?", Kind.YES_NO),
        ("What happened on 2026-06-05?", Kind.WHAT),
        ("How hot must it be?", Kind.NUMBER),
        ("Was war hier?", Kind.WHAT),  # not the English was
        ("Was the kite red?", Kind.YES_NO),
    ],
)
def test_the_kind_of_a_question_is_seen(text: str, kind: Kind) -> None:
    assert analyse(text).kind is kind


@pytest.mark.parametrize(
    ("text", "german"),
    [
        ("Fällt auf Wasser Steuer an?", True),
        ("What is in the Bundestag?", False),
        ("Zisterne", False),
    ],
)
def test_the_language_is_seen_from_small_words(text: str, german: bool) -> None:
    assert analyse(text).german is german


def test_two_questions_in_one_are_two() -> None:
    assert [q.text for q in analyse_all("Who owns A and when is B due?")] == [
        "Who owns A",
        "when is B due?",
    ]


def test_a_question_that_stands_alone_takes_nothing_from_before() -> None:
    before = [Exchange("Who owns the kite?", "- Ada owns the kite. [a.md:1]")]
    assert analyse("When was Port Ellary flooded?", before).context == ()


def test_a_question_with_a_pronoun_takes_up_what_was_said() -> None:
    before = [Exchange("When does the kite fly?", "- The kite flies in May. [a.md:1]")]
    question = analyse("and who owns it?", before)
    assert question.words == ("owns",)
    assert {"kite", "fly"} <= set(question.context)
    assert question.paths == ("a.md",)


def test_what_was_quoted_is_read_back_from_an_answer() -> None:
    answer = "### A\n\n- One [a.md:1]\n2. Two [b.md:2]\n- row · name: cell [c.md:3]\n\nAnswered."
    assert list_quotes(answer) == ["One", "Two", "row · name: cell"]


def test_words_that_say_nothing_are_left_out() -> None:
    assert list_content_words("What is the on-call phone of the Kesh Bay team?") == [
        "on", "call", "phone", "Kesh", "Bay", "team",
    ]  # fmt: skip


def test_a_title_between_two_lines_is_a_heading_and_no_sentence() -> None:
    assert [(p.text, p.title) for p in read("=====\nOvens\n=====\n\nThey are hot.\n")] == [
        ("They are hot.", "Ovens")
    ]


def test_the_contrary_of_a_word_is_not_the_word() -> None:
    assert compare_words("offici", "unoffici") == 0
    assert compare_words("bedingung", "pachtbedingung") > 0


@pytest.mark.parametrize(
    ("asked", "other", "is_one"),
    [
        ("enthusiasm", "enthusiastic", True),  # derived from one root
        ("silence", "silent", True),
        ("gestimmt", "stimmen", True),
        ("umgesetzt", "umsetzen", True),
        ("contract", "contrast", False),
        ("garten", "lindengarten", True),  # what a compound is
        ("form", "platform", False),
    ],
)
def test_a_word_is_found_in_what_is_made_of_it(asked: str, other: str, is_one: bool) -> None:
    assert bool(compare_words(stem(asked), stem(other))) is is_one


@pytest.mark.parametrize(
    ("question", "telling"),
    [
        ("In which year did the novel appear?", {"novel"}),  # the sort of answer tells nothing
        ("Which album did Paul record?", {"album", "paul"}),
        ("Why did we choose Kubernetes?", {"kubernet"}),  # a name is no verb
        ("How long does it run without sun?", {"sun"}),  # nor is what a small word leads to
        ("How many people walked along the canal?", {"walk", "canal"}),
        ("Wie schwer ist das Boot?", {"boot"}),
        ("Who lends us the generator?", {"generator"}),  # a verb stands behind who
        ("How long are copies retained?", {"copi"}),  # or is a participle
        ("What did the Trust try in 2024?", {"trust", "2024"}),  # or before a small word
        ("What causes most alarms?", {"alarm"}),
        ("What tasks does Ada have?", {"task", "ada"}),  # here it is a noun
    ],
)
def test_the_words_that_tell_what_a_question_is_about(question: str, telling: set[str]) -> None:
    weights = analyse(question).weights
    assert {word for word, weight in weights.items() if weight == 1.0} == telling


def test_forms_of_a_word_are_one_word() -> None:
    assert {stem(word) for word in ("plan", "plans", "planned")} == {"plan"}


# -- conversations --------------------------------------------------------------------------------


def asked(*messages: dict[str, object]) -> ModelRequest:
    return ModelRequest(messages, (), "auto", 1_000, 0)


def called(number: int, **arguments: object) -> dict[str, object]:
    function = {"name": "vault_read", "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def test_notes_of_the_system_are_no_part_of_question_or_result() -> None:
    talk = parse_request(
        asked(
            {"role": "system", "content": "…"},
            {"role": "user", "content": "Why?\n\n[Oracle: Approaching the limit (1/3).]"},
            called(1, path="a.md"),
            {"role": "tool", "tool_call_id": "c1", "content": "1| x\n\n[Oracle: Stop.]"},
        )
    )
    assert (talk.question, talk.warned) == ("Why?", True)
    assert [step.result for step in talk.steps] == ["1| x"]


def test_a_note_after_an_answer_is_no_new_question() -> None:
    talk = parse_request(
        asked(
            {"role": "user", "content": "Why?"},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "[Oracle: Your last reply was empty.]"},
        )
    )
    assert talk.question == "Why?"


def test_calls_of_earlier_runs_are_not_of_this_one() -> None:
    talk = parse_request(
        asked(
            {"role": "user", "content": "One?"},
            called(1, path="a.md"),
            {"role": "tool", "tool_call_id": "c1", "content": "1| x"},
            {"role": "assistant", "content": "- x [a.md:1]"},
            {"role": "user", "content": "Two?"},
        )
    )
    assert talk.steps == []
    assert talk.earlier == [Exchange("One?", "- x [a.md:1]")]


@pytest.mark.parametrize(
    ("result", "failure"),
    [
        ("No note matches 'x'. Try other words.", ""),
        ("vault_search failed (OSError).", "vault_search failed (OSError)."),
    ],
)
def test_a_failed_search_is_told_from_an_empty_one(result: str, failure: str) -> None:
    evidence = Evidence(ParsedRequest("x", steps=[Step("vault_search", {}, result)]))
    assert (evidence.hits, evidence.failure) == ([], failure)


def test_a_hit_has_its_place_title_and_heading() -> None:
    (hit,) = parse_places("1. a b/c.md:3 (score 0.50) T > H\n   snippet", "vault")
    assert (hit.path, hit.line, hit.title, hit.heading, hit.text) == (
        "a b/c.md", 3, "T", "H", "snippet",
    )  # fmt: skip


def test_a_result_that_was_cut_in_the_middle_is_still_read() -> None:
    talk = parse_request(
        asked(
            {"role": "user", "content": "One?"},
            called(1, path="a.md"),
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": "a.md (99 lines)\n1| First one. Sec\n[… 9,999 characters cut …]\nnd.\n"
                "99| Last one.",
            },
        )
    )
    assert re.search("First one", talk.steps[0].result)
