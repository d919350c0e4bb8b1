"""The system prompt: a template that an administrator can replace, filled for one question."""

import re
from collections.abc import Sequence

from django.template.exceptions import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import render_to_string

from agents.core.loop import MAX_NOTES_LISTED, MAX_THREADS_LISTED, bound_names
from agents.models import Project
from agents.vault.listing import list_recent
from agents.vault.project_threads import list_recent_threads
from agents.vault.thread_service import ThreadSummary

TEMPLATE_NAME = "oracle/system.md"
MAX_FIXED_CHARS = 4_000
"""What the template may take by itself: it is sent with every request."""
PLACEHOLDER = re.compile(r"\{\w*\}|\{\{|\}\}|\{%|%\}|\$\{\w*")


def build_system_prompt(project: Project, *, can_write: bool) -> str:
    """Return what the model is told first in a run of this project."""
    notes = list_recent(project.pk, MAX_NOTES_LISTED)
    threads = [_describe(each) for each in list_recent_threads(project.pk, MAX_THREADS_LISTED)]
    return render_system_prompt(project.name, notes, threads, can_write=can_write)


def _describe(thread: ThreadSummary) -> str:
    count = f"{thread.entry_count} entr{'y' if thread.entry_count == 1 else 'ies'}"
    return f"{thread.name} ({count}, last on {thread.updated_at:%Y-%m-%d})"


def render_system_prompt(
    project: str, notes: list[str], threads: Sequence[str] = (), *, can_write: bool
) -> str:
    """Fill the template. No name of a project, a note or a thread can add a line to it."""
    names = bound_names(project, notes, threads)
    context = {
        "project": names.project,
        "notes": names.notes,
        "threads": names.threads,
        "can_write": can_write,
    }
    return render_to_string(TEMPLATE_NAME, context).strip()


def find_template_fault() -> str:
    """Say what keeps the template from being used; empty if nothing does."""
    try:
        prompts = [render_system_prompt("", [], can_write=flag) for flag in (True, False)]
    except (TemplateSyntaxError, TemplateDoesNotExist, UnicodeDecodeError, OSError) as error:
        return f"cannot be used: {error}"
    for prompt in prompts:
        if found := PLACEHOLDER.search(prompt):
            return f"leaves {found[0]!r} unfilled"
        if len(prompt) > MAX_FIXED_CHARS:
            return f"has {len(prompt):,} characters; {MAX_FIXED_CHARS:,} are the most"
        if not prompt:
            return "is empty"
    return ""
