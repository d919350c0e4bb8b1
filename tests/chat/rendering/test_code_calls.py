"""What a call of a code tool is shown as: read from what the tools themselves write."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.template.loader import render_to_string

from agents.code.project_code import ProjectCode
from agents.code.service import Code
from agents.core.messages import ToolCall
from agents.models import Project
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from chat.rendering import fragments
from chat.rendering.code_calls import read_code_call
from tests.agents.tools.factories import context
from tests.agents.tools.fake_code import HIT, READ, FakeCode
from tests.support.code import import_payloads
from tests.support.hostile import OURS
from tests.support.pages import Page

PROJECT = UUID(int=7)
CALLS: dict[str, dict[str, Any]] = {
    "search_code": {"queries": ["read"]},
    "find_definition": {"symbol": "read"},
    "find_references": {"symbol": "read"},
    "get_repo_map": {},
}


def show(tool: str, code: Code | None = None, symbol: str = "read") -> dict[str, Any]:
    arguments = {k: symbol if k == "symbol" else v for k, v in CALLS[tool].items()}

    async def run() -> str:
        runner = ToolExecutor([TOOLS.get(tool)], [code or FakeCode()])
        return (await runner.run(ToolCall("1", tool, arguments), context())).content

    return read_code_call(PROJECT, tool, async_to_sync(run)())


def test_hits_have_their_place_and_their_lines() -> None:
    [place] = show("search_code")["places"]
    assert (place.path, place.line, place.title) == ("gauge/reader.py", 12, "Gauge.read")
    assert place.url == f"/code/{PROJECT}/gauge/reader.py#L12"
    assert [line.number for line in place.lines] == [12, 13]
    assert '<span class="k">def</span>' in place.lines[0].html


def test_a_definition_has_its_lines() -> None:
    [place] = show("find_definition")["places"]
    assert (place.title, len(place.lines)) == ("method Gauge.read", 2)


def test_uses_are_grouped() -> None:
    shown = show("find_references")
    assert [place.path for place in shown["places"]] == ["gauge/reader.py"]
    groups = {group.title: [use.path for use in group.uses] for group in shown["use_groups"]}
    assert groups == {
        "Certain": ["gauge/log.py"],
        "Likely": ["tests/x.py"],
        "Same name only": ["web/y.py", "web/z.py"],
    }


def test_a_map_is_a_tree() -> None:
    [folder] = show("get_repo_map")["map_folders"]
    [file] = folder.files
    assert (folder.path, file.name) == ("gauge", "reader.py")
    assert [(line.text, line.level) for line in file.lines] == [
        ("class Gauge:", 0),
        ("def read(self) -> float:", 1),
    ]


@pytest.mark.parametrize("tool", CALLS)
def test_nothing_found_is_told_by_the_result_alone(tool: str) -> None:
    empty = FakeCode(hits=(), definitions=(), references=(), total=0, mapped=())
    assert not show(tool, empty)["is_told"]


def test_other_tools_are_none_of_its_business() -> None:
    assert not read_code_call(PROJECT, "vault_search", "1. a.py:1 (score 1.00) x")["is_told"]


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("payload", OURS)
def test_names_paths_and_lines_are_text_whatever_they_say(tool: str, payload: str) -> None:
    evil = replace(
        READ, path=payload, name=payload, container=payload, signature=payload, excerpt=payload
    )
    code = FakeCode(
        hits=[replace(HIT, path=payload, symbol=payload, snippet=payload)],
        definitions=[evil],
        references=[replace(each, path=payload, text=payload) for each in FakeCode().references],
        mapped=[replace(FakeCode().mapped[0], path=payload, definitions=(evil,))],
    )
    check_card(fragments.render("code_call", **show(tool, code)))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tool", ["find_definition", "find_references", "get_repo_map"])
def test_names_that_a_language_allows_are_text_in_the_card(tool: str, tmp_path: Path) -> None:
    project = Project.objects.create(name="evil")
    payload = "<img src=x onerror=alert(1)>"
    [name] = import_payloads(project, tmp_path, [payload])
    shown = show(tool, ProjectCode(project.pk), symbol=name)
    assert shown["is_told"]
    html = fragments.render("code_call", **shown)
    assert "onerror=alert(1)" in html
    check_card(html)


def check_card(html: str) -> None:
    for tag, attributes in Page(html).elements:
        assert tag in {"div", "section", "h3", "a", "span", "ol", "ul", "li", "code"}
        assert attributes.get("href", "/code/").startswith(f"/code/{PROJECT}/"[:6])
        assert not [name for name in attributes if name.startswith("on")]


def test_a_definition_stands_apart_from_its_place() -> None:
    shown = render_to_string("chat/fragments/_code_call.html", show("find_definition"))
    assert ":12</a> <span" in shown
