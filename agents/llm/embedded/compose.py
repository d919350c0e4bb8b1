"""The whole answer as text: what was found under fixed phrases, as long as there is room."""

import re
from collections.abc import Sequence

from agents.llm.embedded.answers import find_answer
from agents.llm.embedded.evidence import Answer, Evidence
from agents.llm.embedded.formatting import escape, render_passages
from agents.llm.embedded.phrases import get_phrases
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.request import CITATION

_MAX_LISTED = 60
_LABEL_CHARS = 80


def compose(
    questions: Sequence[Question], evidence: Evidence, room: int, *, can_search: bool
) -> str:
    """Return the whole answer in at most `room` characters, where that is possible."""
    said = get_phrases(any(question.german for question in questions))
    blocks: list[str] = []
    for question in questions:
        found = _answer(question, evidence, said, can_search)
        if len(questions) > 1 and not CITATION.search(found[0]):
            blocks.append(said["about"].format(question.text[:_LABEL_CHARS]))
        blocks += [block for block in found if block not in blocks]
    text = "".join(blocks)
    end = said["declared"] if CITATION.search(text) else said["plain"]
    if any(p.citation in text for p in evidence.passages if not p.read):
        end = f"{said['unread']} {end}"
    return _fit(blocks, end, room)


def _fit(blocks: list[str], end: str, room: int) -> str:
    """As many blocks as fit before the last line; of the first, at least its head."""
    left = room - len(end) - 2
    kept: list[str] = []
    for block in blocks:
        while len(block) + 2 > left and block.count("\n") > 1:
            block = block.rpartition("\n")[0]
        if len(block) + 2 > left:
            break
        kept.append(block)
        left -= len(block) + 2
    return "\n\n".join([*(kept or blocks[:1]), end] if kept or not blocks else blocks[:1])


def _answer(
    question: Question, evidence: Evidence, said: dict[str, str], can_search: bool
) -> list[str]:
    match question.kind:
        case Kind.TALK:
            is_thanks = re.search(r"thank|thx|dank", question.folded)
            return [said["welcome" if is_thanks else "talk"]]
        case Kind.CALCULATE if result := evidence.get_result(
            "calculate", expression=question.expression
        ):
            return [f"{said['about'].format(question.expression)} {result}"]
        case Kind.TIME if result := evidence.get_result("current_time"):
            return [f"{said['result']} {result}"]
        case Kind.NOTES if evidence.request.get_steps("vault_list"):
            return _render_listing(evidence, said)
    answer = find_answer(question, evidence)
    if answer.passages or answer.sides:
        return _render(answer, said)
    if evidence.failure:
        return [f"{said['failed']} {escape(' '.join(evidence.failure.split())[:300])}"]
    if evidence.queries:
        return [_say_nothing(evidence, said)]
    if evidence.request.get_steps("vault_list"):
        return [said["empty"]]
    if evidence.request.steps:
        return [said["nothing"]]
    return [said["not_yet" if can_search else "no_tool"]]


def _render(answer: Answer, said: dict[str, str]) -> list[str]:
    blocks: list[str] = []
    for side, found in answer.sides:
        label = said["about"].format(side[:_LABEL_CHARS])
        blocks += (
            [label, *_render(found, said)] if found.passages else [f"{label} {said['nothing']}"]
        )
    head = [] if answer.is_certain or not answer.passages else [said["nearest"]]
    return [*blocks, *head, *render_passages(answer.passages)]


def _say_nothing(evidence: Evidence, said: dict[str, str]) -> str:
    looked = "; ".join(f"“{query}”" for query in dict.fromkeys(evidence.queries))
    return f"{said['nothing']} {said['looked'].format(looked)}"


def _render_listing(evidence: Evidence, said: dict[str, str]) -> list[str]:
    if not evidence.listing:
        return [said["empty"]]
    lines = [f"- {escape(title)} [{path}]" for path, title in evidence.listing[:_MAX_LISTED]]
    more = [said["more"]] if len(evidence.listing) > _MAX_LISTED else []
    return ["\n".join([said["notes"], "", *lines]), *more]
