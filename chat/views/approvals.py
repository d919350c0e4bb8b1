"""What a paused run waits for: shown as a card or a page of its own, and decided there."""

from uuid import UUID

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.approvals import ApprovalVerdict, PendingApproval
from agents.models import ApprovalRequest, ApprovalState
from agents.runtime import RunRefused, get_runtime, start_from_thread
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from chat.errors import ChatError
from chat.rendering.approval_card import build_card
from chat.services import approvals

_fragment = sign_in_required(htmx_status=204)


@never_cache
@_fragment
@require_GET
def show(request: HtmxRequest, run_id: UUID) -> HttpResponse:
    """Show what a run asks, and what would change. A card that is shown already asks again with
    `open`, to hear of a decision elsewhere: until then it stays as it is."""
    pending = _get_pending(request, run_id)
    if "open" in request.GET and pending.row.is_open:
        return HttpResponse(status=204)
    return _render_card(request, pending, "")


@never_cache
@_fragment
@require_POST
def decide(request: HtmxRequest, run_id: UUID) -> HttpResponse:
    """Decide, and start the run that does it. Why it cannot be stands in the card."""
    user, message = get_user(request), ""
    pending = _get_pending(request, run_id)
    try:
        verdict = _read_form(request.POST, pending)
        via = ApprovalRequest.Way.PAGE.value
        prepared = approvals.decide(user, run_id, verdict, via=via)
        run = start_from_thread(prepared.request, prepared.attach)
        if run.conversation_key is not None:
            get_runtime().notify_changed(run.conversation_key)
            if not request.htmx:
                return redirect("conversation", conversation_id=run.conversation_key)
    except (ChatError, RunRefused) as error:
        message = str(error)
    return _render_card(request, _get_pending(request, run_id), message)


def _read_form(form: QueryDict, pending: PendingApproval) -> ApprovalVerdict:
    """Read the buttons and the ticks: a yes is for the calls that are ticked, but for those with
    words of their own, which are done differently."""
    verdict, words = form.get("verdict", ""), form.get("words", "")
    rows = [one.row for one in pending.calls]
    said = {row.call_id: form.get(f"words-{row.order}", "").strip() for row in rows}
    calls = {key: (ApprovalState.DIFFERENTLY.value, own) for key, own in said.items() if own}
    if verdict == ApprovalState.APPROVED and rows:
        chosen = set(form.getlist("do"))
        left = [row for row in rows if not said[row.call_id] and str(row.order) not in chosen]
        if len(left) + len(calls) == len(rows):
            verdict = ApprovalState.REFUSED.value
        else:
            calls |= {row.call_id: (ApprovalState.REFUSED.value, "") for row in left}
    return approvals.build_verdict(verdict, words, form.get("digest", ""), calls)


def _get_pending(request: HtmxRequest, run_id: UUID) -> PendingApproval:
    try:
        return approvals.get_pending(get_user(request), run_id)
    except ChatError as error:  # nobody's, or pruned
        raise Http404(str(error)) from None


def _render_card(request: HtmxRequest, pending: PendingApproval, message: str) -> HttpResponse:
    card = build_card(pending, request.POST if message else None)
    page = "chat/fragments/_approval.html" if request.htmx else "chat/pages/approval.html"
    context = {"card": card, "run": pending.row.run, "approval": pending.row, "message": message}
    return render(request, page, context)
