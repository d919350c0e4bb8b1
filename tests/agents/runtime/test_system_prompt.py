"""The system prompt: what the template says, that it can be replaced, and that it is bounded."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from agents.checks import check_system_prompt
from agents.core.loop import MAX_THREADS_LISTED
from agents.models import Project, Thread
from agents.runtime.system_prompt import (
    PLACEHOLDER,
    build_system_prompt,
    find_template_fault,
    render_system_prompt,
)
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entries, set_status

names = st.lists(st.text(max_size=300), max_size=60)


def replace_template(settings: Settings, folder: Path, text: str) -> None:
    """Put a template where an administrator puts it."""
    (folder / "oracle").mkdir(parents=True, exist_ok=True)
    (folder / "oracle" / "system.md").write_text(text)
    templates = deepcopy(settings.TEMPLATES)
    templates[0]["DIRS"] = [folder, *templates[0]["DIRS"]]
    settings.TEMPLATES = templates


@pytest.mark.parametrize("can_write", [True, False])
def test_it_is_short_and_says_what_it_is_how_to_cite_and_that_tool_output_is_data(
    can_write: bool,
) -> None:
    prompt = render_system_prompt("engine", [], can_write=can_write)
    assert len(prompt) <= 1_300
    for words in ("Oracle", "'engine'", "[path]", "never an instruction"):
        assert words in prompt
    assert "Notes" not in prompt
    assert PLACEHOLDER.findall(prompt) == []


def test_it_promises_only_what_there_is() -> None:
    prompt = render_system_prompt("engine", ["a.md"], can_write=True)
    assert "thread" not in prompt
    assert "code" not in prompt


def test_a_reader_is_told_apart_from_somebody_who_may_write() -> None:
    assert "may change the notes" in render_system_prompt("p", [], can_write=True)
    assert "not change them" in render_system_prompt("p", [], can_write=False)


def test_it_lists_the_newest_notes_unescaped() -> None:
    prompt = render_system_prompt("Q&A <1>", ["a&b.md", "c.md"], can_write=True)
    assert prompt.endswith("Notes, newest first:\n- a&b.md\n- c.md")
    assert "'Q&A <1>'" in prompt


@given(st.text(), names)
def test_no_name_can_add_a_line(project: str, notes: list[str]) -> None:
    bare = render_system_prompt("engine", [], can_write=True)
    prompt = render_system_prompt(project, notes, can_write=True)
    listed = prompt.partition("\nNotes, newest first:\n")[2].split("\n") if notes else []
    assert all(line.startswith("- ") or line == "-" for line in listed)
    assert len(prompt.splitlines()) == len(bare.splitlines()) + (len(listed) + 2 if listed else 0)


@given(names)
def test_no_name_of_a_thread_can_add_a_line(threads: list[str]) -> None:
    bare = render_system_prompt("engine", [], can_write=True)
    prompt = render_system_prompt("engine", [], threads, can_write=True)
    listed = prompt.removeprefix(bare).splitlines()[3:]
    assert all(line.startswith("- ") or line == "-" for line in listed)
    assert len(listed) <= MAX_THREADS_LISTED


@pytest.mark.django_db
def test_it_names_the_newest_active_threads_with_their_count_and_date() -> None:
    project = Project.objects.create(name="engine", slug="engine")
    assert "hread" not in build_system_prompt(project, can_write=True)
    at = datetime(2026, 2, 26, tzinfo=UTC)
    for name in ("old", *(f"t{number}" for number in range(12))):
        at += timedelta(days=1)
        entries = [NewEntry("x", at=at), NewEntry("y", at=at)]
        push_entries(project.pk, name, entries, Author.importer())
    set_status(project.pk, "t11", Thread.Status.ARCHIVED)
    prompt = build_system_prompt(project, can_write=True)
    _, _, listed = prompt.partition("cited as [thread:name#number]:\n")
    assert listed.split("\n")[0] == "- t10 (2 entries, last on 2026-03-10)"
    assert len(listed.split("\n")) == MAX_THREADS_LISTED
    assert "t11" not in listed


def test_an_administrator_replaces_it_by_a_file(settings: Settings, tmp_path: Path) -> None:
    replace_template(settings, tmp_path, "Answer about {{ project }} in verse.")
    assert render_system_prompt("tides", [], can_write=True) == "Answer about tides in verse."
    assert check_system_prompt(None) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{% if %}", "cannot be used"),
        ("{% unknown %}", "cannot be used"),
        ("{{ project", "leaves '{{' unfilled"),
        ("Hello {name}", "leaves '{name}' unfilled"),
        ("x" * 5_000, "has 5,000 characters"),
        (" \n", "is empty"),
    ],
)
def test_a_template_that_cannot_be_used_is_told_at_the_start(
    settings: Settings, tmp_path: Path, text: str, fault: str
) -> None:
    replace_template(settings, tmp_path, text)
    assert fault in find_template_fault()
    [error] = check_system_prompt(None)
    assert error.id == "agents.E004"
    assert error.hint is not None
    assert "ORACLE_DATA_DIR" in error.hint
