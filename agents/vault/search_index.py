"""Which notes fit a few words best: BM25 with weights for titles, headings and tags. No I/O.

Words are compared by a light stem that serves English and German. A note gains when one of its
lines holds many of the words, and more when they stand side by side. Equal scores are ordered by
path, so the same notes and words always give the same list.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from agents.core.stemming import WORD_PATTERN, fold, stem, stems

TITLE_WEIGHT, HEADING_WEIGHT, TAG_WEIGHT, PATH_WEIGHT = 3.0, 1.5, 2.0, 1.5
K1, B = 1.2, 0.5
SNIPPET_CHARS = 480
_MAX_CANDIDATES = 40
_HEADING_PATTERN = re.compile(r"#{1,6}\s+(\S.*)")
_STOP_WORDS_TEXT = """
a an and any are as at be been but by can could did do does for from had has have how i if in
into is it its me my no not of on or our shall should so than that the their them then there
these they this those to us was we were what when where which who whom whose why will with would
you your about tell please aber alle als am an auch auf aus bei bin bis das dass dem den der des
die dies diese ein eine einem einen einer es fur gibt hat haben ich im in ist kann man mir mit
nach nicht noch oder sich sie sind so uber um und uns unser von vor wann warum was welche
welcher welches wenn wer wie wieso wird wo worden zu zum zur
"""
_STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())


def get_query_stems(query: str) -> list[str]:
    """The words of a query that carry it, once each; all of them when none does."""
    words = WORD_PATTERN.findall(fold(query))
    telling = [word for word in words if word not in _STOP_WORDS]
    return list(dict.fromkeys(stem(word) for word in telling or words))


@dataclass(frozen=True)
class Document:
    """A note as the index sees it."""

    path: str
    text: str

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def front_matter_lines(self) -> int:
        """How many lines the frontmatter takes."""
        if not self.lines or self.lines[0].strip() != "---":
            return 0
        ends = (number for number, line in enumerate(self.lines[1:], 2) if line.strip() == "---")
        return next(ends, 0)

    @cached_property
    def title(self) -> str:
        given = next((v for k, v in self._front_matter_items() if k == "title" and v), "")
        heading = next((h for h in self.headings if h), "")
        name = self.path.rpartition("/")[2].removesuffix(".md")
        return " ".join((given.strip("\"'") or heading or name).split())[:200]

    @cached_property
    def tags(self) -> str:
        return " ".join(
            value for key, value in self._front_matter_items() if key in ("tags", "aliases")
        )

    @cached_property
    def headings(self) -> list[str]:
        """The heading that each line stands under, from the first line to the last."""
        found, current = [], ""
        for line in self.lines[self.front_matter_lines :]:
            if match := _HEADING_PATTERN.match(line):
                current = match[1].rstrip().rstrip("#").rstrip()
            found.append(current)
        return [""] * self.front_matter_lines + found

    def heading_at(self, line: int) -> str:
        return self.headings[line] if line < len(self.headings) else ""

    def _front_matter_items(self) -> list[tuple[str, str]]:
        items: list[tuple[str, str]] = []
        for line in self.lines[1 : max(1, self.front_matter_lines - 1)]:
            key, colon, value = line.partition(":")
            if colon and not line[0].isspace():
                items.append((key.strip().lower(), value.strip()))
            elif items:  # a list below its key
                items[-1] = (items[-1][0], f"{items[-1][1]} {line.strip(' -')}")
        return items

    @cached_property
    def line_stems(self) -> list[list[str]]:
        body = [stems(line) for line in self.lines[self.front_matter_lines :]]
        return [[] for _ in range(self.front_matter_lines)] + body

    def count_weighted_stems(self) -> Counter[str]:
        """How often each stem occurs, by where it does."""
        counts: Counter[str] = Counter()
        for line, found in zip(self.lines, self.line_stems, strict=True):
            add = HEADING_WEIGHT if line.startswith("#") else 1.0
            for word in found:
                counts[word] += add  # type: ignore[assignment]  # Counter takes any number
        for text, add in (
            (self.title, TITLE_WEIGHT),
            (self.tags, TAG_WEIGHT),
            (self.path[:-3], PATH_WEIGHT),
        ):
            for word in set(stems(text)):
                counts[word] += add  # type: ignore[assignment]  # the same
        return counts


@dataclass(frozen=True, slots=True)
class RankedDocument:
    document: Document
    line: int
    snippet: str
    score: float


class SearchIndex:
    """An index of documents by stem."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self._postings: dict[str, dict[str, float]] = {}
        self._lengths: dict[str, float] = {}

    def add(self, document: Document) -> None:
        self.remove(document.path)
        weights = document.count_weighted_stems()
        self.documents[document.path] = document
        self._lengths[document.path] = float(sum(map(len, document.line_stems)))
        for word, weight in weights.items():
            self._postings.setdefault(word, {})[document.path] = float(weight)

    def remove(self, path: str) -> None:
        document = self.documents.pop(path, None)
        if document is None:
            return
        del self._lengths[path]
        for word in document.count_weighted_stems():
            self._postings[word].pop(path, None)
            if not self._postings[word]:
                del self._postings[word]

    def search(self, query: str, limit: int) -> list[RankedDocument]:
        wanted = get_query_stems(query)
        rarity = {word: self._get_idf(word) for word in wanted}
        if not self.documents or not rarity:
            return []
        scores = self._score_documents(rarity)
        first = sorted(scores, key=lambda path: (-scores[path], path))[
            : max(_MAX_CANDIDATES, limit)
        ]
        most = sum(rarity.values()) * (K1 + 1)
        found = []
        for path in first:
            line, closeness = _find_best_line(self.documents[path], rarity)
            score = min(1.0, scores[path] / most * (0.75 + 0.5 * closeness))
            snippet = _build_snippet(self.documents[path], line, rarity)
            found.append(RankedDocument(self.documents[path], line, snippet, round(score, 3)))
        return sorted(found, key=lambda hit: (-hit.score, hit.document.path))[:limit]

    def _get_idf(self, word: str) -> float:
        having, total = len(self._postings.get(word, ())), len(self.documents)
        return math.log(1 + (total - having + 0.5) / (having + 0.5))

    def _score_documents(self, rarity: dict[str, float]) -> dict[str, float]:
        mean = sum(self._lengths.values()) / len(self._lengths) or 1.0
        scores: dict[str, float] = {}
        for word, weight in rarity.items():
            for path, often in self._postings.get(word, {}).items():
                long = 1 - B + B * self._lengths[path] / mean
                gain = weight * often * (K1 + 1) / (often + K1 * long)
                scores[path] = scores.get(path, 0.0) + gain
        return scores


def _find_best_line(document: Document, rarity: dict[str, float]) -> tuple[int, float]:
    """The line with most of the words, and how much of them it has: 1 is all, side by side."""
    total = sum(rarity.values()) or 1.0
    pairs = {*pairwise(rarity)}
    best, most = document.front_matter_lines, -1.0
    for number, found in enumerate(document.line_stems):
        share = sum(rarity[word] for word in set(found) & rarity.keys()) / total
        beside = sum(pair in pairs for pair in pairwise(found))
        near = 0.8 * share + 0.2 * min(1.0, beside / max(1, len(pairs))) if share else 0.0
        if document.lines[number].startswith("#"):
            near *= 0.9  # what stands below says more
        if near > most and found:
            best, most = number, near
    return _skip_headings(document, best), max(0.0, most)


def _skip_headings(document: Document, line: int) -> int:
    """Of a heading, the text it stands over: that is what a reader wants to see."""
    for number in range(line, len(document.lines)):
        text = document.lines[number]
        if text.strip() and not text.startswith("#"):
            return number
    return min(line, max(0, len(document.lines) - 1))


def _build_snippet(document: Document, line: int, rarity: dict[str, float]) -> str:
    """The line as one line of text; of a long one, the part around its first telling word."""
    text = " ".join(document.lines[line].split()) if document.lines else ""
    if len(text) <= SNIPPET_CHARS:
        return text
    places = (m.start() for m in WORD_PATTERN.finditer(text) if stem(fold(m[0])) in rarity)
    start = max(0, min(next(places, 0) - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS))
    part = text[start : start + SNIPPET_CHARS - 2]
    return f"{'…' if start else ''}{part}{'…' if start + len(part) < len(text) else ''}"
