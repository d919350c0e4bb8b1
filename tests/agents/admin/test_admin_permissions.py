"""Every address of the admin, asked by everybody: one that is new has to be classified."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import Client
from django.urls import URLResolver, get_resolver

from agents.models import AgentRun, AuditEntry, RunEvent, SiteSettings, StoredSubscriber
from tests.agents.admin.factories import ended, saved
from tests.agents.admin.fixtures import auditors, owner

pytestmark = pytest.mark.django_db

SESSION = "sessionid"
WHO = ("anonymous", "user", "auditor", "auditor with content", "superuser")
STAFF = WHO[2:]

# What each person gets, in the order of WHO: `in` is the page to sign in, numbers are answers.
NOBODY = ("in", 403, 404, 404, 404)
EVERY_STAFF = ("in", 403, 200, 200, 200)
READ_ONLY = ("in", 403, 405, 405, 405)
CONTENT = ("in", 403, 403, 200, 200)
ADMINISTRATORS = ("in", 403, 403, 403, 200)
NOT_EVEN_THEY = ("in", 403, 403, 403, 403)
MOVED = ("in", 403, 302, 302, 302)
MATRIX: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    # address: what GET answers, what POST answers
    "": (EVERY_STAFF, EVERY_STAFF),
    "login/": (("in",) * 5, ("in",) * 5),
    "logout/": (READ_ONLY, ("in", 403, "out", "out", "out")),
    "password_change/": (MOVED, MOVED),
    "jsi18n/": (EVERY_STAFF, READ_ONLY),
    "^(?P<app_label>auth|agents)/$": (EVERY_STAFF, EVERY_STAFF),
    "(?P<url>.*)$": (NOBODY, NOBODY),
    # runs: read only, for superusers too
    "agents/agentrun/": (EVERY_STAFF, READ_ONLY),
    "agents/agentrun/export.<str:form>": (EVERY_STAFF, READ_ONLY),
    "agents/agentrun/<uuid:object_id>/change/": (EVERY_STAFF, READ_ONLY),
    # a part of a page: a page to sign in has no place in it
    "agents/agentrun/<uuid:object_id>/live/": ((403, 403, 286, 286, 286), (405,) * 5),
    "agents/agentrun/<uuid:object_id>/transcript/": (CONTENT, CONTENT),
    "agents/agentrun/<uuid:object_id>/cancel/": (
        ("in", 403, 403, 403, 405),
        ("in", 403, 403, 403, 302),
    ),
    "agents/agentrun/replay/": (EVERY_STAFF, READ_ONLY),
    "agents/auditentry/": (EVERY_STAFF, READ_ONLY),
    "agents/storedbehaviour/": (ADMINISTRATORS, ("in", 403, 405, 405, 405)),
    "agents/useragentconfig/": (EVERY_STAFF, READ_ONLY),
    "agents/useragentconfig/<int:object_id>/change/": (EVERY_STAFF, READ_ONLY),
    # projects and the site's settings: for superusers, neither added nor deleted here
    "agents/project/": (ADMINISTRATORS, ADMINISTRATORS),
    "agents/sitesettings/": (("in", 403, 403, 403, 302), ("in", 403, 403, 403, 302)),
    **{
        f"agents/{model}/{page}": (NOT_EVEN_THEY, NOT_EVEN_THEY)
        for model in ("project", "sitesettings")
        for page in ("add/", "<path:object_id>/delete/")
    },
    **{
        f"agents/{model}/<path:object_id>/{page}/": (ADMINISTRATORS, ADMINISTRATORS)
        for model in ("project", "sitesettings")
        for page in ("change", "history")
    },
    **{
        f"agents/{model}/<path:object_id>/": (MOVED, MOVED) for model in ("project", "sitesettings")
    },
    # subscribers of the site: for superusers
    **{
        f"agents/storedsubscriber/{page}": (ADMINISTRATORS, ADMINISTRATORS)
        for page in ("", "add/", "<path:object_id>/change/", "<path:object_id>/history/")
    },
    "agents/storedsubscriber/<path:object_id>/delete/": (
        ADMINISTRATORS,
        ("in", 403, 403, 403, 302),
    ),
    "agents/storedsubscriber/<path:object_id>/": (MOVED, MOVED),
    # people and groups: Django's own, for superusers
    **{
        f"auth/{model}/{page}": (ADMINISTRATORS, ADMINISTRATORS)
        for model in ("user", "group")
        for page in ("", "add/", "<path:object_id>/change/")
    },
    **{
        f"auth/{model}/<path:object_id>/delete/": (ADMINISTRATORS, ("in", 403, 403, 403, 302))
        for model in ("user", "group")
    },
    **{
        f"auth/{model}/<path:object_id>/history/": (ADMINISTRATORS, ADMINISTRATORS)
        for model in ("user", "group")
    },
    **{f"auth/{model}/<path:object_id>/": (MOVED, MOVED) for model in ("user", "group")},
    "auth/user/<id>/password/": (ADMINISTRATORS, ADMINISTRATORS),
}


def patterns(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern, route)
        else:
            yield route


def addresses() -> list[str]:
    everything = patterns(get_resolver())
    return [route.removeprefix("admin/") for route in everything if route.startswith("admin/")]


def test_every_address_of_the_admin_is_classified_once() -> None:
    found = addresses()
    assert sorted(found) == sorted(set(found))
    assert set(found) - set(MATRIX) == set(), "say in MATRIX who may ask for it"
    assert set(MATRIX) - set(found) == set(), "not there any more"


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


class Stage:
    """One run, and one person of each kind."""

    def __init__(self) -> None:
        ada, project = owner()
        (self.run,) = saved(ended(ada, project))
        group, sighted = auditors("Auditors"), auditors("Auditors with content")
        self.people: dict[str, User | None] = {
            "anonymous": None,
            "user": User.objects.create_user("plain"),
            "auditor": User.objects.create_user("otto", is_staff=True),
            "auditor with content": User.objects.create_user("vera", is_staff=True),
            "superuser": User.objects.create_superuser("root"),
        }
        for name, joined in (("auditor", group), ("auditor with content", sighted)):
            user = self.people[name]
            assert user is not None
            user.groups.add(joined)
        self.sessions = {who: self._sign_in(user) for who, user in self.people.items() if user}

    def _sign_in(self, user: User) -> str:
        client = Client()
        client.force_login(user)
        return client.cookies[SESSION].value

    def kept(self) -> Any:
        """What no address changes."""
        return list(AgentRun.objects.values()), RunEvent.objects.count()

    def path(self, route: str) -> str:
        """An address of the pattern, about things that are there."""
        victim, _ = User.objects.get_or_create(username="victim")
        group, _ = Group.objects.get_or_create(name="victims")
        SiteSettings.objects.get_or_create(pk=1)
        subscriber, _ = StoredSubscriber.objects.get_or_create(name="own", text="")
        keys = {
            "auth/user": victim.pk,
            "auth/group": group.pk,
            "agents/project": self.run.project_id,
            "agents/sitesettings": 1,
            "agents/storedsubscriber": subscriber.pk,
        }
        key = next((pk for start, pk in keys.items() if route.startswith(start)), group.pk)
        for part, value in {
            "<uuid:object_id>": str(self.run.pk),
            "<path:object_id>": str(key),
            "<int:object_id>": str(victim.pk),
            "<id>": str(key),
            "<str:form>": "csv",
            "^(?P<app_label>auth|agents)/$": "agents/",
            "(?P<url>.*)$": "nothing/here",
        }.items():
            route = route.replace(part, value)
        return f"/admin/{route}"

    def ask(self, who: str, method: str, path: str) -> Any:
        client = Client(raise_request_exception=True)
        if who in self.sessions:
            client.cookies[SESSION] = self.sessions[who]
        data = {"post": "yes"} if path.endswith("delete/") else {"reason": "seen"}
        answer = getattr(client, method)(path, data if method == "post" else {}, secure=True)
        where = answer.headers.get("Location", "")
        if answer.status_code == 302 and where.startswith("/sign-in/?next="):
            return "in"
        if answer.status_code == 302 and where == "/sign-in/":
            return "out"
        return answer.status_code


@pytest.mark.parametrize("method", ["get", "post"])
def test_everybody_gets_what_is_theirs(method: str) -> None:
    stage = Stage()
    kept, wrong = stage.kept(), []
    for route in sorted(MATRIX):
        path = stage.path(route)
        for who, expected in zip(WHO, MATRIX[route][method == "post"], strict=True):
            with undone():
                answer = stage.ask(who, method, path)
                if answer != expected or stage.kept() != kept:
                    wrong.append((route, who, answer))
    assert wrong == []


GUESSES = (
    "agents/agentrun/add/", "agents/agentrun/{run}/delete/", "agents/agentrun/{run}/history/",
    "agents/agentrun/{run}/", "agents/runevent/", "agents/runevent/1/change/",
    "agents/modelsettings/", "agents/apitoken/", "agents/runtool/", "agents/membership/",
    "agents/auditentry/add/", "agents/auditentry/1/change/", "agents/auditentry/1/delete/",
    "agents/useragentconfig/add/", "agents/useragentconfig/1/delete/",
    "agents/useragentconfig/1/history/", "agents/useragentconfig/999999/change/",
    "agents/settingchange/",
    "chat/conversation/", "sessions/session/", "admin/logentry/", "autocomplete/",
    "r/1/1/", "agents/agentrun/{run}/../", "agents/agentrun/export.xlsx",
    "agents/agentrun/00000000-0000-4000-8000-000000000000/change/",
    "agents/agentrun/00000000-0000-4000-8000-000000000000/live/",
    "agents/agentrun/nonsense/change/", "agents/agentrun/{run}/change/more/",
)  # fmt: skip


@pytest.mark.parametrize("who", STAFF)
def test_guessed_addresses_are_not_there(who: str) -> None:
    stage = Stage()
    for guess in GUESSES:
        path = "/admin/" + guess.format(run=stage.run.pk)
        assert {stage.ask(who, method, path) for method in ("get", "post")} <= {404, 405}, guess
    assert AuditEntry.objects.exclude(verb="close").count() == 0


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_other_methods_change_nothing(method: str) -> None:
    stage = Stage()
    client = Client()
    root = stage.people["superuser"]
    assert root is not None
    client.force_login(root)
    for path in (
        "agents/agentrun/",
        f"agents/agentrun/{stage.run.pk}/change/",
        "agents/auditentry/",
        "agents/useragentconfig/",
        f"agents/useragentconfig/{root.pk}/change/",
    ):
        assert getattr(client, method)(f"/admin/{path}", secure=True).status_code == 405
    assert AgentRun.objects.filter(pk=stage.run.pk).exists()


def test_what_was_said_is_on_no_page_of_an_auditor() -> None:
    stage = Stage()
    client = Client()
    otto = stage.people["auditor"]
    assert otto is not None
    client.force_login(otto)
    for route in addresses():
        if route not in ("agents/agentrun/export.<str:form>", "logout/"):
            answer = client.get(stage.path(route), secure=True)
            assert b"secret" not in answer.content, route


def test_signing_in_leads_to_the_page_that_was_asked_for() -> None:
    Stage()
    User.objects.create_superuser("boss", password="a long password")
    client = Client()
    there = "/admin/agents/agentrun/?reason=timeout"
    answer = client.get(there, secure=True)
    assert answer["Location"] == "/sign-in/?next=/admin/agents/agentrun/%3Freason%3Dtimeout"
    known = {"username": "boss", "password": "a long password"}
    answer = client.post(answer["Location"], known, secure=True)
    assert answer["Location"] == there


def test_somebody_without_staff_status_is_told_so_and_not_asked_again() -> None:
    stage = Stage()
    plain = stage.people["user"]
    assert plain is not None
    client = Client()
    client.force_login(plain)
    for path in ("/admin/", "/admin/login/?next=/admin/", "/sign-in/?next=/admin/"):
        assert client.get(path, secure=True, follow=True).status_code == 403


def test_a_person_who_is_deleted_in_the_admin_leaves_their_runs_without_a_name() -> None:
    stage = Stage()
    ada = User.objects.get(username="ada")
    assert stage.ask("superuser", "post", f"/admin/auth/user/{ada.pk}/delete/") == 302
    assert not User.objects.filter(username="ada").exists()
    assert AgentRun.objects.get(pk=stage.run.pk).user is None
