"""What a report cites is there, and what was read for it is cited."""

import pytest

from agents.core.chunks import SourceRef
from agents.tools.report_citations import cite_what_was_read, drop_unknown_citations
from tests.support.timing import assert_in_proportion

NAMES = {"log/pump.md", "thread:alarms"}


def test_citations_of_what_nobody_saw_are_dropped_and_told() -> None:
    report = "It failed [log/pump.md:3], was mended [made/up.md:9] [see below] [1]."
    checked = drop_unknown_citations(report, NAMES, [])
    assert checked == (
        "It failed [log/pump.md:3], was mended [see below] [1].\n\n"
        "[1 citation was dropped: what it names does not exist.]"
    )


@pytest.mark.parametrize("made_up", ["up.md", "made/up", "thread:up#3", "https://up.example/x"])
def test_of_several_in_one_bracket_those_that_were_seen_stay(made_up: str) -> None:
    checked = drop_unknown_citations(f"So [{made_up}; log/pump.md:3-4] [{made_up}].", NAMES, [])
    assert checked.startswith("So [log/pump.md:3-4].")
    assert "2 citations were dropped" in checked


@pytest.mark.parametrize(
    "report",
    [
        "[a/b.md:1]",
        "[thread:alarms#3]",
        "[`log/pump.md`]",
        "[1.5 m] [e.g. so] [x]",
        "[made/up](https://up.example)",
        "[so, as in a/b.md:1]",
        "[c, d.md]",
        "[[made/up]]",
    ],
)
def test_what_was_seen_or_is_no_citation_stays(report: str) -> None:
    assert drop_unknown_citations(report, NAMES, ["1. a/b.md:1 (score 3)", "c, d.md"]) == report


def test_the_work_for_brackets_without_end_grows_with_their_number() -> None:
    def build(size: int) -> str:
        return "[a/" * size + "[" * size + ",;" * size

    assert_in_proportion(lambda text: drop_unknown_citations(text, NAMES, []), build, size=8_000)


def test_what_was_read_is_named_and_what_was_only_found_is_not() -> None:
    read, found = SourceRef("a.md", "vault"), SourceRef("b.md", "vault", score=0.5)
    assert cite_what_was_read("So.", [read, read, found]) == "So.\n\nAlso read: [a.md]"
    assert cite_what_was_read("So [a.md:3].", [read]) == "So [a.md:3]."
