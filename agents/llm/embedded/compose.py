"""The whole answer as text: what was found under fixed phrases, as long as there is room."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from agents.llm.embedded.answers import find_answer
from agents.llm.embedded.evidence import Answer, Evidence
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.phrases import ENGLISH, GERMAN
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.request import CITATION
from agents.llm.embedded.vocabulary import REFERS_BACK

_MAX_LISTED = 60
_LABEL_CHARS = 80
_MAX_CHARS = 700
"""What is longer than any sentence is shown from its beginning."""
_CODE_SPAN = re.compile(r"(`+[^`]*`+)")
_ACTIVE = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)")


def compose(
    questions: Sequence[Question], evidence: Evidence, room: int, *, can_search: bool
) -> str:
    """Return the whole answer in at most `room` characters, where that is possible; of a run that
    continues another, what that one has not said."""
    said = GERMAN if any(question.german for question in questions) else ENGLISH
    blocks: list[str] = []
    for question in questions:
        found = _answer(question, evidence, said, can_search)
        if len(found) == 1 and is_given(found[0], evidence.request.given):
            found = [said["no_more"]]
        if len(questions) > 1 and not CITATION.search(found[0]):
            blocks.append(said["about"].format(question.text[:_LABEL_CHARS]))
        blocks += [block for block in found if block not in blocks]
    text = "".join(blocks)
    quotes = (block for block in blocks if not block.startswith(said["above"]))
    end = said["declared"] if any(map(CITATION.search, quotes)) else said["plain"]
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
    return "\n\n".join([*kept, end] if kept or not blocks else blocks[:1])


def _answer(
    question: Question, evidence: Evidence, said: dict[str, str], can_search: bool
) -> list[str]:
    if question.kind is Kind.TALK:
        is_thanks = re.search(r"thank|thx|dank", question.folded)
        return [said["welcome" if is_thanks else "talk"]]
    if question.call and (result := evidence.request.get_result(*question.call)):
        return [f"{said['result']} {result}"]
    answer = find_answer(question, evidence)
    if answer.passages or answer.sides:
        return _render(answer, said, evidence.request.given)
    if evidence.failure:
        return [f"{said['failed']} {escape(' '.join(evidence.failure.split())[:300])}"]
    if evidence.queries:
        looked = "; ".join(map(said["quoted"].format, dict.fromkeys(evidence.queries)))
        return [f"{said['nothing']} {said['looked'].format(looked)}"]
    if evidence.request.get_steps("vault_list"):
        return [said["empty"]]
    if evidence.request.steps:
        return [said["nothing"]]
    return [said["not_yet" if can_search else "no_tool"]]


def _render(answer: Answer, said: dict[str, str], given: str) -> list[str]:
    """Return a block for each note: its title as a heading, its passages below, by section.
    Passages that are in `given` are left out."""
    blocks: list[str] = []
    for side, found in answer.sides:
        told = _render(found, said, given) or [said["nothing"]]
        blocks += [said["about"].format(side[:_LABEL_CHARS]), *told]
    passages = [p for p in answer.passages if not _is_passage_given(p, given)]
    if answer.passages and not passages:
        cited = dict.fromkeys(p.citation for p in answer.passages if p.citation in given)
        is_above = answer.is_certain and cited
        return [*blocks, " ".join([said["above"], *cited]) if is_above else said["no_more"]]
    if passages and not answer.is_certain:
        blocks.append(said["nearest"])
    entries = [p for p in passages if p.kind == "entry"]  # of a list of notes
    if entries:
        blocks.append("\n".join(_render_line(p, entries) for p in entries[:_MAX_LISTED]))
    if len(entries) > _MAX_LISTED:
        blocks.append(said["more"])
    by_note: dict[str, list[Passage]] = {}
    for passage in passages:
        if passage.kind != "entry":
            by_note.setdefault(passage.key, []).append(passage)
    return [*blocks, *map(_render_note, by_note.values())]


def _is_passage_given(passage: Passage, given: str) -> bool:
    if passage.kind == "code":
        return passage.citation in given
    return passage.path in given and is_given(escape(" ".join(passage.text.split())), given)


def is_given(text: str, given: str) -> bool:
    """Return whether an earlier answer says this, wherever its lines break."""
    return bool(given) and " ".join(text.split()) in " ".join(given.split())


# -- passages as Markdown -------------------------------------------------------------------------


def _render_note(passages: Sequence[Passage]) -> str:
    sections = [(name, list(found)) for name, found in groupby(passages, lambda p: p.heading)]
    title = escape(passages[0].title)
    if len(sections) == 1 and sections[0][0]:
        title = f"{title} · {escape(sections[0][0])}"
    lines = [f"### {title}"]
    for name, found in sections:
        if name and len(sections) > 1:
            lines += ["", f"**{escape(name)}**"]
        lines += ["", *(_render_line(p, found) for p in _join_sentences(found))]
    return "\n".join(lines)


def _join_sentences(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages with the sentences that follow each other in one line of a note as one."""
    joined: list[Passage] = []
    last: Passage | None = None
    for passage in passages:
        goes_on = last is not None and passage.before == last and passage.place == last.place
        if goes_on and len(joined[-1].text) + len(passage.text) < _MAX_CHARS:
            joined[-1] = replace(joined[-1], text=f"{joined[-1].text} {passage.text}")
        else:
            joined.append(passage)
        last = passage if passage.kind == "sentence" else None
    return joined


def _render_line(passage: Passage, beside: Sequence[Passage]) -> str:
    if passage.kind == "code":
        code = "\n".join(f"      {line}" for line in passage.text.split("\n"))
        return f"- {passage.citation}\n\n{code}\n"
    text = " ".join(passage.text.split())
    before = passage.before
    if before is not None and before not in beside and _needs_sentence_before(passage):
        text = f"{before.text} {text}"
    mark = passage.mark if passage.is_step else "-"
    return f"{mark} {escape(text)} {passage.citation}"


def escape(text: str) -> str:
    """Return text of a note as text: tags and images are shown, not obeyed."""
    if len(text) > _MAX_CHARS:
        head = text[:_MAX_CHARS]
        text = f"{head.rpartition(' ')[0] or head} …"
    parts = _CODE_SPAN.split(text)
    return "".join(p if p.startswith("`") else _ACTIVE.sub(r"\\\g<0>", p) for p in parts)


def _needs_sentence_before(passage: Passage) -> bool:
    """Return whether a passage cannot be understood without the sentence before it."""
    short = len(passage.text) < 60 and REFERS_BACK.search(passage.text)
    return bool(passage.refers or (passage.before is not None and short))
