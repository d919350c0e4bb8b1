"""The list of one's own runs, also of those that were asked for in the terminal."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from agents.core.reasons import REASONS
from agents.models import AgentRun

PAGE = 25


@dataclass(frozen=True, slots=True)
class Line:
    """A run, in words."""

    run: AgentRun

    @property
    def outcome(self) -> str:
        return self.run.outcome or "running"

    @property
    def label(self) -> str:
        """The reason may be that of a package which is no longer installed."""
        if self.run.outcome is None:
            return "Running"
        reason = self.run.reason
        return REASONS.get(reason).label if reason in REASONS else reason

    @property
    def tokens(self) -> int:
        return self.run.tokens_in + self.run.tokens_out

    @property
    def duration(self) -> str:
        ended = self.run.ended_at
        return _words(ended - self.run.started_at) if ended else ""


def _words(time: timedelta) -> str:
    seconds = max(time.total_seconds(), 0.0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


@never_cache  # what is private does not stay behind when somebody signs out
@login_required
def runs(request: HttpRequest) -> HttpResponse:
    own = AgentRun.objects.filter(user=request.user.pk).defer("answer", "explanation", "config")
    page = Paginator(own, PAGE).get_page(request.GET.get("page"))
    lines = [Line(run) for run in page]
    return render(request, "runs.html", {"page": page, "lines": lines})
