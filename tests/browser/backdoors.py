"""Ways into the database of a server process, without signing in. For tests only.

They make people, notes and rows, and tell what is stored. What a page does, a test does by a page.
"""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth import login
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from agents import ledger
from agents.audit.event_codec import encode_chunk
from agents.core.chunks import Content, Done, OracleStreamChunk, Turn, to_dict
from agents.core.config import LIMITS, AgentConfig
from agents.core.sanitize import replace_unstorable
from agents.models import AgentRun, ModelSettings, Project, SettingChange, UserAgentConfig
from agents.models.runs import RunEvent
from agents.projects.services import create_project
from agents.vault.sample import add_sample_notes
from chat.models import Conversation, Exchange
from tests.support.history_rewriting import rewritable
from tests.support.notes import add_note


@csrf_exempt
def person(request: HttpRequest) -> JsonResponse:
    """{name, password?, models?}: somebody with the sample's notes, and models of their own."""
    asked = json.loads(request.body)
    name = asked["name"]
    user = User.objects.create_user(name, password=asked.get("password"))
    project = create_project(user, "Tidewatch", is_sample=True)
    add_sample_notes(project)
    if asked.get("models", True):
        librarian = f"{name}-librarian"
        ModelSettings.objects.create(user=user, oracle_model=name, subagent_model=librarian)
    return JsonResponse({"project": str(project.pk)})


def enter(request: HttpRequest) -> HttpResponse:
    """?name=&next=: sign in."""
    user = User.objects.get(username=request.GET["name"])
    login(request, user, "django.contrib.auth.backends.ModelBackend")
    return redirect(request.GET.get("next", "/"))


@csrf_exempt
def change(request: HttpRequest) -> JsonResponse:
    """{name, ...}: change columns of an account."""
    asked = json.loads(request.body)
    User.objects.filter(username=asked.pop("name")).update(**asked)
    return JsonResponse({})


@csrf_exempt
def changers(request: HttpRequest) -> JsonResponse:
    """{name, names}: people of these names, each of whom has changed a setting of somebody's."""
    asked = json.loads(request.body)
    user = User.objects.get(username=asked["name"])
    people = [User(username=name, password="!") for name in asked["names"]]
    User.objects.bulk_create(people, batch_size=200)
    SettingChange.objects.bulk_create(
        SettingChange(user=user, by=one, name="oracle_model", old="", new=one.username)
        for one in people
    )
    return JsonResponse({})


@csrf_exempt
def limits(request: HttpRequest) -> JsonResponse:
    """{name, ...}: set these limits; all that are in force then."""
    asked = json.loads(request.body)
    row = UserAgentConfig.for_user(User.objects.get(username=asked.pop("name")))
    for name, value in asked.items():
        setattr(row, name, value)
    row.save()
    return JsonResponse({name: getattr(row, name) for name in LIMITS})


@csrf_exempt
def note(request: HttpRequest) -> JsonResponse:
    """{name, path, content}: a note of somebody's project, without what no note can hold."""
    asked = json.loads(request.body)
    project = Project.objects.get(members__username=asked["name"])
    add_note(project, asked["path"], replace_unstorable(asked["content"]))
    return JsonResponse({})


def runs(request: HttpRequest) -> JsonResponse:
    """?name=: somebody's runs, oldest first, with every chunk that is stored."""
    own = AgentRun.objects.filter(user__username=request.GET["name"]).order_by("started_at")
    return JsonResponse({"runs": [_serialize(run) for run in own]})


def _serialize(run: AgentRun) -> dict[str, Any]:
    chunks = [to_dict(chunk) for page in ledger.iter_pages(run.pk) for chunk in page.chunks]
    columns = ("question", "answer", "explanation", "outcome", "reason", "turns", "config")
    return {
        "id": str(run.pk),
        "continued_from": str(run.continued_from_id or ""),
        "exchanges": Exchange.objects.filter(run=run).count(),
        "chunks": chunks,
        "rows": list(run.events.order_by("seq").values("seq", "kind", "data", "content")),
        **{name: getattr(run, name) for name in columns},
    }


# -- rows in bulk ---------------------------------------------------------------------------------


@csrf_exempt
def talk(request: HttpRequest) -> JsonResponse:
    """{name, exchanges}: a conversation of so many finished exchanges."""
    asked = json.loads(request.body)
    user = User.objects.get(username=asked["name"])
    project = Project.objects.get(members=user)
    made = Conversation.objects.create(user=user, project=project, title="A long talk")
    begun = timezone.now() - timedelta(days=1)
    rows = [_run(user, project, made.pk, n) for n in range(asked["exchanges"])]
    AgentRun.objects.bulk_create(rows, batch_size=200)
    with rewritable():
        RunEvent.objects.bulk_create((e for row in rows for e in _events(row)), batch_size=200)
    parent: UUID | None = None
    hung: list[Exchange] = []
    for number, row in enumerate(rows):
        at = begun + timedelta(seconds=number)
        hung.append(Exchange(conversation=made, parent_id=parent, run=row, created_at=at))
        parent = hung[-1].pk
    Exchange.objects.bulk_create(hung, batch_size=200)
    Conversation.objects.filter(pk=made.pk).update(head=parent)
    return JsonResponse({"conversation": str(made.pk)})


def _run(user: User, project: Project, key: UUID, number: int) -> AgentRun:
    return AgentRun(
        id=uuid4(),
        user=user,
        project=project,
        conversation_key=key,
        question=f"Question number {number}?",
        answer=_answer(number),
        tree="default",
        model="scripted",
        config=AgentConfig().model_dump(),
        outcome="completed",
        reason="completed",
        turns=1,
        last_seq=len(_chunks(number)),
        ended_at=timezone.now(),
    )


def _answer(number: int) -> str:
    return f"Answer **number {number}**.\n\n" + "It says the same as the others. " * 6


def _chunks(number: int) -> list[OracleStreamChunk]:
    end = Done(
        termination_reason="completed",
        outcome="completed",
        turns_used=1,
        tokens_used=100,
        usage_source="provider",
        model_used="scripted",
        seq=4,
    )
    return [
        Turn(number=1, phase="start", seq=1),
        Content(content=_answer(number), seq=2),
        Turn(number=1, phase="end", prompt_tokens=80, completion_tokens=20, seq=3),
        end,
    ]


def _events(run: AgentRun) -> list[RunEvent]:
    number = int(run.question.split()[2].rstrip("?"))
    return [encode_chunk(chunk).build_event(run.pk) for chunk in _chunks(number)]


@csrf_exempt
def titles(request: HttpRequest) -> JsonResponse:
    """{name, titles}: somebody's only conversations, one for each title, with nothing in them."""
    asked = json.loads(request.body)
    user = User.objects.get(username=asked["name"])
    project = Project.objects.get(members=user)
    Conversation.objects.filter(user=user, head__isnull=True).delete()
    made = [Conversation(user=user, project=project, title=title) for title in asked["titles"]]
    Conversation.objects.bulk_create(made)
    return JsonResponse({"conversations": [str(row.pk) for row in made]})
