"""The editor of rules and of behaviours: a text with problems by line, which is saved if nobody
else has changed it meanwhile, tried on the past, or deleted. What a kind of text has of its own is
in its `TextEditor`, which every address is given."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from agents.core.control.problems import InvalidText
from agents.projects.errors import ProjectError, ProjectForbidden, ProjectNotFound
from agents.stored_texts import (
    ListedText,
    TextConflict,
    TextError,
    TextKind,
    TextLocked,
    TextNotFound,
    clean_text,
)
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from agents.web.throttling import Throttled, check_rate

Context = Mapping[str, Any]
Listed = TypeVar("Listed", bound=ListedText)
GONE = "This {0} no longer exists. Your text is not lost: save it as a new {0}."


class TextEditor(ABC, Generic[Listed]):
    """What one kind of text has of its own. Its noun names its addresses and its field in
    forms."""

    kind: ClassVar[TextKind[Any]]
    template: ClassVar[str]
    check_template: ClassVar[str]
    trial_template: ClassVar[str]
    max_length: ClassVar[int]

    @property
    def noun(self) -> str:
        return self.kind.noun

    @property
    def section(self) -> str:
        return f"{self.noun}s"

    @abstractmethod
    def get(self, user: User, text_id: str) -> Listed:
        """Return one that they can see. Raises TextNotFound."""

    @abstractmethod
    def start(self, request: HtmxRequest) -> str:
        """Return what a new one begins with."""

    @abstractmethod
    def create(self, user: User, text: str, chosen: str) -> str:
        """Store one for those who were chosen; say that it is stored."""

    @abstractmethod
    def change(self, user: User, listed: Listed, text: str, version: int) -> str:
        """Give one another text; say that it is saved."""

    @abstractmethod
    def delete(self, user: User, listed: Listed) -> str:
        """Delete one; say that it is deleted."""

    @abstractmethod
    def read(self, request: HtmxRequest, text: str) -> Context:
        """Return what there is to show of a text without problems. Raises InvalidText."""

    def inspect(self, request: HtmxRequest, text: str) -> Context:
        """Return what there is to show of a text: its problems, if it has any."""
        try:
            return self.read(request, clean_text(text))
        except InvalidText as error:
            return {"problems": error.problems}

    @abstractmethod
    def attempt(self, request: HtmxRequest, text: str) -> Context:
        """Try a text on the past. Raises InvalidText, Throttled and TextError."""

    @abstractmethod
    def build_context(self, request: HtmxRequest, listed: Listed | None, text: str) -> Context:
        """Return what its page shows beyond what every editor does."""


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def new(request: HtmxRequest, editor: TextEditor[Listed]) -> HttpResponse:
    if request.method == "GET":
        return render_editor(request, editor, None, editor.start(request))
    user, text = get_user(request), request.POST.get("text", "")
    try:
        said = editor.create(user, text, request.POST.get("for", "own"))
    except (InvalidText, TextError, ProjectError) as refused:
        return render_refusal(request, editor, None, text, refused)
    messages.success(request, said)
    return redirect(editor.section)


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def edit(request: HtmxRequest, editor: TextEditor[Listed], text_id: str) -> HttpResponse:
    """Show one; take another text for it, if it is still the version that they saw."""
    if request.method == "GET":
        listed = find_text(request, editor, text_id)
        return render_editor(request, editor, listed, listed.text)
    user, text = get_user(request), request.POST.get("text", "")
    try:
        listed = editor.get(user, text_id)
        said = editor.change(user, listed, text, _read_version(request))
    except TextNotFound:  # another tab has deleted it
        return render_editor(request, editor, None, text, 409, refusal=GONE.format(editor.noun))
    except (InvalidText, TextError) as refused:
        listed = find_text(request, editor, text_id)
        return render_refusal(request, editor, listed, text, refused)
    messages.success(request, said)
    return redirect(editor.section)


@sign_in_required()
@require_POST
def delete(request: HtmxRequest, editor: TextEditor[Listed], text_id: str) -> HttpResponse:
    listed = find_text(request, editor, text_id)
    try:
        said = editor.delete(get_user(request), listed)
    except TextError as refused:
        return render_refusal(request, editor, listed, listed.text, refused)
    messages.success(request, said)
    return redirect(editor.section)


@never_cache
@sign_in_required()
@require_POST
def check(request: HtmxRequest, editor: TextEditor[Listed]) -> HttpResponse:
    """Say what is wrong with a text while it is typed. Without JavaScript, saving says it."""
    status = 422
    try:
        check_rate(get_user(request), "check")
        context, status = editor.inspect(request, request.POST.get("text", "")), 200
    except Throttled as refused:
        context = {"check_refusal": str(refused)}
    return render(request, editor.check_template, context, status=status)


@never_cache
@sign_in_required()
@require_POST
def attempt(request: HtmxRequest, editor: TextEditor[Listed]) -> HttpResponse:
    """Try a text on runs of one's own. Nothing is stored, and no model is asked."""
    text, text_id = request.POST.get("text", ""), request.POST.get(editor.noun, "")
    status = 422
    try:
        context, status = editor.attempt(request, clean_text(text)), 200
    except InvalidText as error:
        context = {"problems": error.problems}
    except (TextError, Throttled) as refused:
        context = {"trial_refusal": str(refused)}
    if request.htmx:
        return render(request, editor.trial_template, context, status=status)
    listed = find_text(request, editor, text_id) if text_id else None
    return render_editor(request, editor, listed, text, status, **context)


# -- what they share ------------------------------------------------------------------------------


def find_text(request: HtmxRequest, editor: TextEditor[Listed], text_id: str) -> Listed:
    try:
        return editor.get(get_user(request), text_id)
    except TextNotFound as error:
        raise Http404(str(error)) from None


def render_refusal(
    request: HtmxRequest,
    editor: TextEditor[Listed],
    listed: Listed | None,
    text: str,
    refused: Exception,
) -> HttpResponse:
    """Keep the text in its field, with why it was not stored."""
    status, more = 422, dict[str, Any](refusal=str(refused))
    match refused:
        case InvalidText():
            more = {"problems": refused.problems}
        case TextConflict():
            status, more = 409, {"conflict": refused.row}
        case TextLocked() | ProjectForbidden():
            status = 403
        case TextNotFound() | ProjectNotFound():
            status = 404
    return render_editor(request, editor, listed, text, status, **more)


def render_editor(
    request: HtmxRequest,
    editor: TextEditor[Listed],
    listed: Listed | None,
    text: str,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    noun = editor.noun
    context = {
        "section": editor.section,
        "noun": noun,
        "urls": {each: f"{noun}-{each}" for each in ("new", "check", "try", "delete")},
        "check_template": editor.check_template,
        "trial_template": editor.trial_template,
        "listed": listed,
        "text": text,
        "can_edit": listed is None or listed.can_edit,
        "max_length": editor.max_length,
        "chosen_for": request.POST.get("for", "own"),
        "may_write_site": editor.kind.may_write_site(get_user(request)),
        "can_try": True,
        **editor.build_context(request, listed, text),
        **more,
    }
    return render(request, editor.template, context, status=status)


def _read_version(request: HtmxRequest) -> int:
    """Return the version that a form was made of; one that says none has seen none."""
    given = request.POST.get("version", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
