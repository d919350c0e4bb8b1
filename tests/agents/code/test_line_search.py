"""Search by regular expressions: a query between slashes."""

from itertools import count
from types import SimpleNamespace

import pytest

from agents.code import line_search
from agents.code.line_search import _cut_batches, get_pattern, search_lines
from agents.code.project_code import ProjectCode
from agents.code.service import CodeRefused
from agents.models import Project
from tests.agents.code.conftest import ReadIn

FILES = {
    "a.py": "import radar\n\ndef read_gauge(): ...\n",
    "b.go": "package b\n\nfunc read_level() {}\n",
    "c.py": "read_gauge()\n",
}


@pytest.fixture
def code(project: Project, read_in: ReadIn) -> ProjectCode:
    read_in(FILES)
    return ProjectCode(project.pk)


def test_a_query_between_slashes_is_an_expression() -> None:
    assert get_pattern(r" /read_\w+/ ") == r"read_\w+"
    assert [get_pattern(query) for query in ("read_gauge", "/", "//", "a/b/", "/a")] == [""] * 5


def test_an_expression_finds_the_first_line_of_each_file_that_fits(code: ProjectCode) -> None:
    found = code.search([r"/read_\w+\(/"], 5).hits
    assert [(hit.path, hit.line, hit.symbol, hit.score) for hit in found] == [
        ("a.py", 3, "read_gauge", 1.0),
        ("b.go", 3, "read_level", 1.0),
        ("c.py", 1, "", 1.0),
    ]
    assert found[0].snippet == "def read_gauge(): ..."
    assert len(code.search([r"/read_\w+\(/"], 2).hits) == 2


def test_an_expression_keeps_to_a_language(code: ProjectCode) -> None:
    assert [hit.path for hit in code.search(["/read_/"], 5, language="go").hits] == ["b.go"]


def test_words_follow_what_expressions_have_found(code: ProjectCode) -> None:
    found = code.search(["/func .*level/", "radar"], 5)
    assert [hit.path for hit in found.hits] == ["b.go", "a.py"]
    only = code.search(["/^func/", "radar"], 1)
    assert [hit.path for hit in only.hits] == ["b.go"]


def test_what_is_no_expression_is_refused_with_the_reason(code: ProjectCode) -> None:
    with pytest.raises(CodeRefused, match=r"^/read\(/ is not a regular expression: missing \)"):
        code.search(["/read(/"], 5)


def test_an_expression_that_takes_too_long_is_refused(project: Project, read_in: ReadIn) -> None:
    read_in({"a.py": "a" * 60 + "b\n"})
    with pytest.raises(CodeRefused, match="takes too long; make it simpler"):
        search_lines(project.pk, "(a+)+$", limit=5, seconds=0.2)


def test_what_was_not_looked_at_for_want_of_time_is_said(
    code: ProjectCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_search, "MAX_SECONDS", -1.0)
    monkeypatch.setattr(line_search, "BATCH_BYTES", 1)
    found = code.search(["/read_/"], 5)
    assert [hit.path for hit in found.hits] == ["a.py"]
    assert found.note == "/read_/ takes long: files after a.py were not looked at."


def test_nothing_is_said_of_files_after_the_last(
    code: ProjectCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_search, "MAX_SECONDS", -1.0)
    assert code.search(["/nowhere/"], 5).note == ""


def test_several_expressions_share_the_time(
    code: ProjectCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = SimpleNamespace(monotonic=count().__next__)  # one with each look at the clock
    monkeypatch.setattr(line_search, "time", seconds)
    monkeypatch.setattr(line_search, "BATCH_BYTES", 1)
    assert code.search(["/nowhere/"], 5).note == ""
    note = code.search([f"/nowhere{number}/" for number in range(4)], 5).note
    assert note.count("files after b.go were not looked at.") == 4


def test_several_expressions_take_turns(code: ProjectCode) -> None:
    found = code.search(["/read_gauge/", "/package/", "/^read/"], 5).hits
    assert [(hit.path, hit.line) for hit in found] == [("a.py", 3), ("b.go", 1), ("c.py", 1)]
    assert [hit.path for hit in code.search(["/read_/", "/package/"], 2).hits] == ["a.py", "b.go"]


def test_only_so_many_files_are_looked_at_together(
    code: ProjectCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(_cut_batches([(1, 9), (2, 9)])) == [[1, 2]]
    monkeypatch.setattr(line_search, "BATCH_FILES", 2)
    assert list(_cut_batches([(1, 9), (2, 9), (3, 9)])) == [[1, 2], [3]]
    assert [hit.path for hit in code.search(["/^read_gauge/"], 5).hits] == ["c.py"]


def test_another_project_has_none_of_it(code: ProjectCode) -> None:
    assert ProjectCode(Project.objects.create(name="other").pk).search(["/./"], 5).hits == ()
