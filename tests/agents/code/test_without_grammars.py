"""Without the extra `code`: code is known by its words, and every result says so."""

import json
from pathlib import Path

import pytest

from agents.code.parser_process import ParserProcess, WorkerEnded
from tests.support.commands import Site
from tests.support.template import copy_site

MISSING = "The grammars of any language are not installed here (the extra `code`)"
BLOCK = 'import sys\n\nsys.modules["tree_sitter"] = None\n'
"""What cannot be imported is as good as not installed."""


@pytest.fixture
def blocked(tmp_path: Path) -> str:
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(BLOCK)
    return str(folder)


@pytest.fixture
def bare_site(tmp_path: Path, blocked: str) -> Site:
    return Site(copy_site(tmp_path / "data"), PYTHONPATH=blocked)


@pytest.mark.ci
def test_without_grammars_code_is_found_by_its_words_and_it_is_said(
    bare_site: Site, tmp_path: Path
) -> None:
    folder = tmp_path / "gauges"
    folder.mkdir()
    (folder / "gauge.py").write_text("def read_gauge(): ...\n")
    read = bare_site.manage("import_code", str(folder), "--project", "gauges")
    assert read.returncode == 0, read.stderr
    assert "1 × the grammar is not installed" in read.stdout  # noqa: RUF001  # times
    assert MISSING in read.stdout
    asked = bare_site.manage("ask", "--json", "Where is read_gauge implemented?")
    chunks = [json.loads(line) for line in asked.stdout.splitlines()]
    results = [str(chunk) for chunk in chunks if "gauge.py:1" in str(chunk)]
    assert results
    assert any(MISSING in result for result in results)


def test_expressions_need_no_grammar(blocked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", blocked)
    with ParserProcess() as parser:
        assert parser.match_lines("b+", ["a\nb"], 5) == [[0, 2]]
        with pytest.raises(WorkerEnded):
            parser.parse("python", b"x = 1\n")
