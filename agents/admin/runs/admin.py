"""Runs in the admin: the list with its charts, the export, and the way to a run's page."""

from functools import lru_cache
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path
from django.utils.safestring import SafeString, mark_safe

from agents.admin.base import ReadOnlyAdmin
from agents.admin.error_pages import staff_view
from agents.admin.run import views
from agents.admin.runs import export
from agents.admin.runs.changelist import CHARTS_PARAM, RunList
from agents.admin.runs.filters import FILTERS
from agents.admin.what_if.views import what_if
from agents.models import AgentRun
from agents.web.reason_labels import RUNNING

EXPORT_PERMISSION = "agents.export_runs"


@admin.register(AgentRun)
class RunAdmin(ReadOnlyAdmin):
    change_list_template = "admin/agents/runs/change_list.html"
    list_display = (
        "started", "person", "conversation", "model_name", "tree_name", "outcome_badge",
        "reason_badge", "turns_used", "calls", "tokens_used", "took",
    )  # fmt: skip
    list_display_links = ("started",)
    list_filter = FILTERS
    list_per_page = 50
    ordering = ("-started_at", "id")
    search_fields = ("id",)

    def get_urls(self) -> list[URLPattern]:
        return [
            *super().get_urls(),
            self.build_url("export.<str:form>", self.export_view, "export"),
            *views.build_urls(self.admin_site),
            path(
                "replay/",
                staff_view(self.admin_site, what_if),
                name="agents_agentrun_replay",
            ),
            self.build_url("<uuid:object_id>/change/", self.change_view, "change"),
        ]

    def allowed_parameters(self) -> set[str]:
        return super().allowed_parameters() | {CHARTS_PARAM}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[RunList]:
        return RunList

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """Return the list as it is: it has searched already, and knows who may ask for what."""
        return queryset, False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        titles = ", conversation title" if request.user.has_perm("agents.view_content") else ""
        self_made = {
            "title": "Runs",
            "may_export": request.user.has_perm(EXPORT_PERMISSION),
            "search_help": f"Run id or its beginning, user name{titles}",
        }
        return super().changelist_view(request, {**self_made, **(extra_context or {})})

    def change_view(
        self,
        request: HttpRequest,
        object_id: Any,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return views.run_page(self, request, str(object_id))

    def export_view(self, request: HttpRequest, form: str) -> Any:
        return export.export(self, request, form)

    # -- columns ----------------------------------------------------------------------------------

    @admin.display(description="Started (UTC)", ordering="started_at")
    def started(self, run: AgentRun) -> str:
        return "unreadable" if "damaged" in vars(run) else f"{run.started_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="User")
    def person(self, run: AgentRun) -> str:
        return run.user.get_username() if run.user else "deleted user"

    @admin.display(description="Conversation")
    def conversation(self, run: AgentRun) -> str:
        """Return the title. It is content: without the permission it was not even read."""
        key = str(run.conversation_key)[:8] if run.conversation_key else "none"
        return vars(run).get("title") or key

    @admin.display(description="Model")
    def model_name(self, run: AgentRun) -> str:
        return run.model

    @admin.display(description="Tree")
    def tree_name(self, run: AgentRun) -> str:
        return run.tree

    @admin.display(description="Outcome")
    def outcome_badge(self, run: AgentRun) -> SafeString:
        if "damaged" in vars(run):
            return render_badge("failed", "Damaged row")
        return render_badge(run.outcome or RUNNING, (run.outcome or RUNNING).capitalize())

    @admin.display(description="Reason")
    def reason_badge(self, run: AgentRun) -> SafeString | str:
        if not run.outcome:
            return ""
        return render_badge(run.outcome, code=run.reason)

    @admin.display(description="Iterations")
    def turns_used(self, run: AgentRun) -> str:
        limit = run.config.get("max_iterations") if isinstance(run.config, dict) else None
        return f"{run.turns} / {limit}" if limit else str(run.turns)

    @admin.display(description="Tool calls")
    def calls(self, run: AgentRun) -> str:
        return f"{run.tool_calls:,}"

    @admin.display(description="Tokens")
    def tokens_used(self, run: AgentRun) -> str:
        return f"{run.tokens or run.tokens_in + run.tokens_out:,}"

    @admin.display(description="Duration")
    def took(self, run: AgentRun) -> str:
        return "" if run.duration_ms is None else f"{run.duration_ms / 1000:,.1f} s"


@lru_cache(maxsize=256)
def render_badge(outcome: str, label: str = "", code: str = "") -> SafeString:
    """Render a badge, cached: the same few for every line."""
    said = {"outcome": outcome, "label": label, "code": code}
    html = render_to_string("admin/agents/fragments/_badge.html", said)
    return mark_safe(html.strip())  # noqa: S308  # a template's own output
