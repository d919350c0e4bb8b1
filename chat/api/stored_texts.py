"""What the addresses of rules and of behaviours share."""

from typing import TypeVar

from agents.core.control.problems import InvalidText
from agents.models.api_tokens import Scope
from agents.stored_texts import ListedText
from chat.api.auth import require_scope
from chat.api.framework import ApiRequest
from chat.api.schemas import Schema

Listed = TypeVar("Listed", bound=ListedText)


class TextProblem(Schema):
    line: int
    column: int
    message: str


def list_problems(error: InvalidText) -> list[TextProblem]:
    return [TextProblem(line=p.line, column=p.column, message=p.message) for p in error.problems]


def require_level(request: ApiRequest, level: str) -> None:
    """Refuse a token that is for one's own settings, where others' runs would be held to it."""
    if level in ("project", "site"):
        require_scope(request.token, Scope.PROJECTS)


def require_writable(request: ApiRequest, listed: Listed) -> Listed:
    require_level(request, listed.level)
    return listed
