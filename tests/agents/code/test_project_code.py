"""A project's code as tools use it: found by words, by definition, by use, and as a map."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.code.project_code import ProjectCode
from agents.code.service import Certainty, CodeRefused
from agents.models import CodeCheckout, CodeSymbol, Project
from tests.agents.code.conftest import ReadIn

GAUGE = '''"""The gauge."""

SAMPLES = 64


class Gauge:
    """Measures the distance to the water."""

    def read_distance(self) -> float:
        return trim_mean(self.sample())

    def sample(self) -> list[float]:
        return [0.0] * SAMPLES


def trim_mean(values: list[float]) -> float:
    """Throw away the highest and lowest eight readings."""
    kept = sorted(values)[8:-8]
    return sum(kept) / len(kept)
'''
MAIN = """from tide.gauge import Gauge, trim_mean as mean
import tide.gauge

def run():
    gauge = Gauge()
    print(gauge.read_distance(), mean([1.0]), tide.gauge.SAMPLES)
"""


@pytest.fixture
def code(project: Project, read_in: ReadIn) -> ProjectCode:
    read_in({"tide/__init__.py": "", "tide/gauge.py": GAUGE, "main.py": MAIN})
    return ProjectCode(project.pk)


def test_words_find_the_line_and_the_definition_around_it(code: ProjectCode) -> None:
    [hit, *_] = code.search(["highest and lowest readings"], 5).hits
    assert (hit.path, hit.language, hit.symbol) == ("tide/gauge.py", "python", "trim_mean")
    assert "lowest eight readings" in hit.snippet


def test_an_identifier_is_found_whole_and_by_its_words(code: ProjectCode) -> None:
    for query in ("read_distance", "readDistance", "distance"):
        assert code.search([query], 5).hits[0].path == "tide/gauge.py", query


def test_a_language_without_files_has_no_hits(code: ProjectCode) -> None:
    assert code.search(["gauge"], 5, language="go").hits == ()
    with pytest.raises(CodeRefused, match="not a language that is known here"):
        code.search(["gauge"], 5, language="klingon")


def test_a_definition_is_found_plain_and_dotted(code: ProjectCode) -> None:
    for symbol in ("read_distance", "Gauge.read_distance", "gauge.Gauge.read_distance()"):
        [found] = code.find_definitions(symbol)
        assert (found.path, found.line, found.kind) == ("tide/gauge.py", 9, "method")
        assert found.signature == "def read_distance(self) -> float"
        assert found.excerpt.startswith("    def read_distance")
    assert code.find_definitions("read_distance", "other") == []
    assert code.find_definitions("Other.read_distance") == []


def test_references_say_how_sure_they_are(code: ProjectCode) -> None:
    found = code.find_references("Gauge", 20)
    assert [(r.path, r.line, r.certainty) for r in found.found] == [
        ("main.py", 1, Certainty.CERTAIN),
        ("main.py", 5, Certainty.CERTAIN),
    ]
    assert found.found[1].text == "gauge = Gauge()"
    [method] = code.find_references("read_distance", 20).found
    assert (method.path, method.line, method.certainty) == ("main.py", 6, Certainty.LIKELY)


def test_a_name_that_was_imported_under_another_is_certain(code: ProjectCode) -> None:
    lines = {(r.path, r.line): r.certainty for r in code.find_references("trim_mean", 20).found}
    assert lines["main.py", 6] == Certainty.CERTAIN
    assert lines["tide/gauge.py", 10] == Certainty.CERTAIN
    samples = code.find_references("SAMPLES", 20).found
    assert {(r.path, r.certainty) for r in samples} == {
        ("main.py", Certainty.CERTAIN),
        ("tide/gauge.py", Certainty.CERTAIN),
    }


def test_a_map_shows_what_is_used_within_its_tokens(code: ProjectCode) -> None:
    found = code.build_map("", 500)
    assert [file.path for file in found.files] == ["main.py", "tide/gauge.py"]
    assert found.token_count <= 500
    small = code.build_map("", 20)
    assert small.token_count <= 20
    assert "Gauge" in [each.name for file in small.files for each in file.definitions]
    assert "sample" not in [each.name for file in small.files for each in file.definitions]
    assert [file.path for file in code.build_map("tide", 500).files] == ["tide/gauge.py"]


def test_the_graph_of_a_map_is_kept_until_the_code_changes(
    code: ProjectCode, read_in: ReadIn, django_assert_max_num_queries: Any
) -> None:
    first = code.build_map("", 500)
    with django_assert_max_num_queries(2):  # what was read when, and how many files there are
        assert code.build_map("", 500) == first
    read_in({"tide/gauge.py": "def read_depth(): ...\n"})
    found = code.build_map("", 500)
    names = [each.name for file in found.files for each in file.definitions]
    assert "read_depth" in names
    assert "Gauge" not in names


def test_while_code_is_read_no_graph_is_kept(code: ProjectCode, project: Project) -> None:
    code.build_map("", 500)
    CodeCheckout.objects.filter(project=project).update(finished_at=None)
    CodeSymbol.objects.filter(project=project, name="Gauge").delete()
    found = code.build_map("", 500)
    assert "Gauge" not in [each.name for file in found.files for each in file.definitions]


def test_who_is_not_in_the_project_finds_nothing(code: ProjectCode, project: Project) -> None:
    stranger = ProjectCode(project.pk, User.objects.create(username="eve").pk)
    with pytest.raises(CodeRefused, match="no longer in this project"):
        stranger.search(["gauge"], 5)


def test_another_project_has_none_of_it(code: ProjectCode) -> None:
    other = ProjectCode(Project.objects.create(name="other").pk)
    assert other.search(["gauge"], 5).hits == ()
    assert other.find_definitions("Gauge") == []
    assert other.find_references("Gauge", 5).total == 0
    assert other.build_map("", 500).files == ()
