"""The worker that parses: watched, ended when it hangs, and started again."""

import sys

import pytest

from agents.code.importer import import_code
from agents.code.parser_process import ParserProcess, WorkerEnded
from agents.code.sources import CodeSource
from agents.models import CodeFile, Project
from agents.search.search import search
from tests.support.code import make_source
from tests.support.timing import PATIENCE

SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")
LONG_CODE = b"a()\n" * 900_000
"""Code that takes several times as long as its test allows."""


def test_a_worker_that_sleeps_is_ended_and_the_file_known_by_its_words(project: Project) -> None:
    source = CodeSource([make_source("gauge.py", b"def read_gauge(): ...\n")], "x")
    with ParserProcess(SLEEPER, seconds=0.05, wait_factor=1) as parser:
        report = import_code(project.pk, source, parser=parser)
    [left] = report.words_only
    assert left.why == "took longer than 0.05 seconds, or broke the parser"
    assert CodeFile.objects.get().reading == CodeFile.Reading.WORDS
    assert len(search(project.pk, ["read_gauge"], limit=5, kinds=["code"]).hits) == 1


def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_parsed() -> None:
    with ParserProcess(seconds=0.5, wait_factor=2 * PATIENCE) as parser:
        with pytest.raises(WorkerEnded):
            parser.parse("python", LONG_CODE)
        assert parser.parse("python", b"x = 1\n")[0][0][0] == "x"


def test_a_worker_that_breaks_off_in_its_answer_is_not_believed() -> None:
    program = "import sys; sys.stdin.readline(); sys.stdout.write('{'); sys.stdout.flush()"
    with ParserProcess((sys.executable, "-c", program)) as parser, pytest.raises(WorkerEnded):
        parser.parse("python", b"x = 1\n")


def test_an_expression_that_never_ends_is_ended() -> None:
    with ParserProcess(seconds=0.2) as parser, pytest.raises(WorkerEnded):
        parser.match_lines("(a+)+$", ["a" * 60 + "b"], 5)


@pytest.mark.parametrize("pattern", ["(", "[", "*", "(?P<a>x)(?P<a>y)", "a{99999999999}", "\\"])
def test_what_is_no_expression_is_said_to_be_none(pattern: str) -> None:
    with ParserProcess() as parser:
        with pytest.raises(ValueError, match=r"\w"):
            parser.match_lines(pattern, ["a"], 5)
        assert parser.match_lines("b", ["a\nb", "c"], 5) == [[0, 2]]
