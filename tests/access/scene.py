"""Two projects with everything in them that can leak, and people of every kind who ask for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from agents.behaviour_service import create_behaviour
from agents.code.parsed_file import ParsedSymbol
from agents.core.chunks import CallView, Content, Source, SourceRef, ToolCalled, ToolResult
from agents.models import (
    ApiToken,
    ApprovalCall,
    ApprovalRequest,
    Attachment,
    CodeCheckout,
    CodeFile,
    Invitation,
    Membership,
    Note,
    Project,
    Reminder,
    StoredRule,
    Thread,
)
from agents.models.api_tokens import Scope
from agents.projects.invitations import create_invitation
from agents.projects.members import remove_member
from agents.rule_service import create_rule
from agents.vault.attachments import add_attachment, delete_attachment
from agents.vault.author import Author
from agents.vault.notes import create_note, delete_note, save_note
from agents.vault.threads import NewEntry, push_entry, set_status, withdraw_entries
from chat.api import throttling
from chat.models import Conversation, Exchange
from chat.rendering import quota
from chat.services import ask
from tests.chat.factories import Browser, browser, said, started
from tests.support.code import add_checkout, add_code
from tests.support.notes import add_note

Role = Membership.Role
HARBOUR, QUARRY = "qxharbour", "qxquarry"
"""Words that stand in everything of a project, besides the names in its addresses."""
OWN_BEHAVIOUR = "qxbehaviour"
"""A word in what the owner wrote, of no project."""
NAMES = {HARBOUR: "nmharbour", QUARRY: "nmquarry"}
"""What the projects are called: owners may still read it when theirs is deleted."""
PLACES = ("owner", "member", "reader")
PEOPLE = (*PLACES, "former", "outsider")
OWN_TABLES = {
    "agents.BehaviourText", "agents.StoredBehaviour",
    "agents.ApiToken", "agents.Appearance", "agents.AuditEntry", "agents.ControlSwitch",
    "agents.ModelSettings", "agents.NotificationSettings", "agents.ProcessLease",
    "agents.ProviderSettings",
    "agents.SettingChange", "agents.SiteSettings", "agents.StoredSubscriber",
    "agents.UserAgentConfig", "chat.SignInCount", "chat.TrialWrite",
}  # fmt: skip
"""Rows of persons and of the site, not of a project."""
TABLES = {
    "agents.ApprovalCall": "approval__run__project",
    "agents.ApprovalRequest": "run__project",
    "agents.NoteVersion": "note__project",
    "agents.Project": "pk",
    "agents.RunEvent": "run__project",
    "agents.RunTool": "run__project",
    "agents.SearchSection": "document__project",
    "agents.ThreadEntry": "thread__project",
    "chat.Exchange": "conversation__project",
}
"""How the project of a row is found where it does not say so itself."""


RULE = """[rule]
id = "by-them"
trigger = "on_turn_end"
[[action]]
type = "log"
message = "Noted."
"""

BEHAVIOUR = '(tree "by-them" (repeater :until-success (turn)))'


class Scene:
    """The harbour has an owner, a member, a reader and one who was removed. The outsider owns the
    quarry; the guest is only there to be removed."""

    def __init__(self) -> None:
        self.users = {name: User.objects.create_user(name) for name in PEOPLE}
        self.file: Attachment
        self.code_file: CodeFile
        self.checkout: CodeCheckout
        self.trashed_file: Attachment
        self.rule: StoredRule
        self.quarry, _, _ = self._make_project(QUARRY, "quarry", "outsider")
        self.project, self.note, self.trashed = self._make_project(HARBOUR, "harbour", "owner")
        for name, role in (("member", Role.MEMBER), ("reader", Role.READER)):
            self._join(name, role)
        self._join("former", Role.MEMBER)
        self.guest = User.objects.create_user("guest")
        Membership.objects.create(project=self.project, user=self.guest, role=Role.READER)
        self.talks = {name: self._talk(name, self.project) for name in (*PLACES, "former")}
        self.deleted_talks = {name: self._talk(name, self.project) for name in ("owner", "former")}
        deleted = [talk.conversation_id for talk in self.deleted_talks.values()]
        Conversation.objects.filter(pk__in=deleted).update(deleted_at=timezone.now())
        self.talks["outsider"] = self._talk("outsider", self.quarry)
        self.invitation: Invitation
        self.invitation, self.secret = create_invitation(self.project, Role.READER, by=None)
        remove_member(self.project, self.users["former"], by=self.users["owner"])
        self.tokens = {
            name: ApiToken.issue(user, "a program", list(Scope.values))[1]
            for name, user in self.users.items()
        }
        self.token = ApiToken.objects.get(user=self.users["owner"])
        own = BEHAVIOUR.replace("by-them", "of-owner").replace(
            "(turn)", f'(turn :say "{OWN_BEHAVIOUR}")'
        )
        self.behaviour = create_behaviour(self.users["owner"], own)
        self._sign_in()

    def browser(self, who: str) -> Browser:
        return self.browsers[who] if who in self.browsers else browser()

    def talk(self, who: str, *, deleted: bool = False) -> Exchange:
        """Whose conversation is asked for: the owner's, by the one who was removed their own."""
        talks = self.deleted_talks if deleted else self.talks
        return talks["former" if who == "former" else "owner"]

    def reminder(self, who: str) -> Reminder:
        """Whose reminder is asked for, as with conversations."""
        user = self.users["former" if who == "former" else "owner"]
        return Reminder.objects.filter(user=user).latest("pk")

    def forbidden(self, who: str, state: str) -> list[str]:
        """Words that somebody may not be shown."""
        words = [f"private-{name}" for name in PEOPLE if name != who or name == "former"]
        if who != "owner":
            words.append(OWN_BEHAVIOUR)
        if who != "outsider":
            words += [QUARRY, NAMES[QUARRY]]
        if who not in PLACES or state == "deleted":
            words.append(HARBOUR)
        if who not in PLACES or (state == "deleted" and who != "owner"):
            words.append(NAMES[HARBOUR])
        if who in PLACES and state == "deleted":
            words.append(f"private-{who}")
        return words

    def _make_project(self, word: str, slug: str, owner: str) -> tuple[Project, Note, Note]:
        project = Project.objects.create(name=f"{NAMES[word]} {slug}", slug=slug)
        Membership.objects.create(project=project, user=self.users[owner], role=Role.OWNER)
        other = f"# {word}\n\nThe other one is {word}.\n"
        add_note(project, f"{word}/{word} of it.md", other)
        text = f"---\naliases: [{word} a]\n---\n# Tide\n\n[[{word} of it]] tide {word} #{word}/x\n"
        author = Author.person(self.users[owner].pk)
        note = create_note(project.pk, "plan/tide.md", text, author)
        save_note(project.pk, note.path, f"{text}\n{word} again\n", author)
        trashed = add_note(project, f"gone/{word}.md", f"tide {word}")
        delete_note(project.pk, trashed.path, author)
        self.file = add_attachment(project.pk, "files/plan.pdf", [f"%PDF {word}".encode()])
        self.trashed_file = add_attachment(project.pk, "files/old.pdf", [word.encode()])
        delete_attachment(self.trashed_file)
        self._fill_threads(project, word, author)
        self._fill_code(project, word)
        text = RULE.replace("by-them", f"of-{word}").replace("Noted", word)
        self.rule = create_rule(self.users[owner], text, level="project", project_id=project.pk)
        return project, note, trashed

    def _fill_threads(self, project: Project, word: str, author: Author) -> None:
        decision = NewEntry(f"Decided about the tide: {word}", "decision")
        push_entry(project.pk, "power", decision, author)
        push_entry(project.pk, f"{word} thoughts", NewEntry(f"tide {word}"), author)
        push_entry(project.pk, f"{word} archived", NewEntry(f"tide {word} once"), author)
        set_status(project.pk, f"{word} archived", Thread.Status.ARCHIVED)
        withdrawn = push_entry(project.pk, "power", NewEntry(f"withdrawn-{word}"), author)
        withdraw_entries(withdrawn.thread.entries.filter(pk=withdrawn.pk), author.user_id)

    def _fill_code(self, project: Project, word: str) -> None:
        text = f"# tide {word}\ndef tide_level():\n    return {word}()\n\n\ntide_level()\n"
        symbols = [ParsedSymbol("tide_level", word, "function", 2, 3, f"def tide_level({word})")]
        add_code(project, f"{word}/other.py", text, symbols)
        self.code_file = add_code(project, "src/tide.py", text, symbols)
        self.checkout = add_checkout(project, origin=word)

    def _sign_in(self) -> None:
        self.browsers = {name: browser(user) for name, user in self.users.items()}

    def _join(self, name: str, role: Membership.Role) -> None:
        Membership.objects.create(project=self.project, user=self.users[name], role=role)

    def _talk(self, name: str, project: Project) -> Exchange:
        word = QUARRY if project == self.quarry else HARBOUR
        told = f"tide {word} private-{name}"
        asked = ask.start_conversation(self.users[name], project.pk, f"Question about {told}?")
        exchange = started(asked, answer=told)
        path = f"{word}/{word} of it.md"
        call = CallView("c1", "vault_read", {"path": path}, "running")
        result: dict[str, Any] = {"tool_call_id": "c1", "tool_result": told, "ok": True}
        result |= {"duration_ms": 1, "order": 0}
        said(
            exchange,
            [
                ToolCalled(seq=1, tool_call=call),
                ToolResult(
                    seq=2, tool_call_id="c1", tool_result=told, ok=True, duration_ms=1, order=0
                ),
                Source(seq=3, source=SourceRef(path, "vault", 1, told)),
                Source(seq=4, source=SourceRef(f"{word}/other.py", "code", 1, told)),
                Content(seq=5, content=f"{told} [{path}:1]"),
            ],
        )
        author = Author.run(exchange.run_id, self.users[name].pk)
        create_note(project.pk, f"made/{exchange.pk}.md", f"{word} by a run", author)
        push_entry(project.pk, "by runs", NewEntry(f"{word} by a run"), author)
        Reminder.objects.create(
            user=self.users[name],
            project=project,
            text=f"Remember {told}",
            expires_at=timezone.now() + timedelta(days=1),
        )
        waiting = ApprovalRequest.objects.create(
            run_id=exchange.run_id,
            asker="tool",
            digest="d",
            expires_at=timezone.now() + timedelta(days=1),
        )
        ApprovalCall.objects.create(
            approval=waiting, order=0, call_id="c1", name=f"{word}_tool", digest="d"
        )
        return exchange

    # -- states -----------------------------------------------------------------------------------

    @contextmanager
    def in_state(self, state: str) -> Iterator[None]:
        columns = {"archived": "archived_at", "deleted": "deleted_at"}
        forget_debts()
        with self.undone():
            self._sign_in()  # whoever signed out
            if state in columns:
                rows = Project.objects.filter(pk=self.project.pk)
                rows.update(**{columns[state]: timezone.now()})
            yield

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Whatever happens meanwhile did not happen."""
        with transaction.atomic():
            yield
            transaction.set_rollback(True)

    def digest(self) -> dict[str, str]:
        """What every table holds of the harbour, and who there is."""
        rows = {name: find(self.project) for name, find in project_rows().items()}
        rows["auth.User"] = User.objects.all()
        return {name: _hash(found) for name, found in rows.items()}


def forget_debts() -> None:
    """Nobody has to wait for what they asked before."""
    quota._buckets.clear()
    throttling.reset()


def list_models() -> list[type[Model]]:
    return [model for app in ("agents", "chat") for model in apps.get_app_config(app).get_models()]


def project_rows() -> dict[str, Callable[[Project], QuerySet[Any]]]:
    """Of every table with rows of projects, how to find those of one."""
    found: dict[str, Callable[[Project], QuerySet[Any]]] = {}
    for model in [
        *apps.get_app_config("agents").get_models(),
        *apps.get_app_config("chat").get_models(),
    ]:
        if model._meta.label not in OWN_TABLES:
            found[model._meta.label] = _finder(model, TABLES.get(model._meta.label, "project"))
    return found


def _finder(model: type[Model], path: str) -> Callable[[Project], QuerySet[Any]]:
    return lambda project: model._base_manager.filter(**{path: project.pk})


def _hash(rows: QuerySet[Any]) -> str:
    kept = [field.name for field in rows.model._meta.concrete_fields if field.name != "last_login"]
    return sha256(repr(sorted(map(repr, rows.values_list(*kept)))).encode()).hexdigest()
