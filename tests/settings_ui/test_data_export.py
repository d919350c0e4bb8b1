"""Everything of one user, as a file that is sent piece by piece."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient
from django.utils import timezone

from agents.endpoints.encryption import encrypt
from agents.models import (
    ApiToken,
    ApprovalRequest,
    BehaviourText,
    ControlSwitch,
    Membership,
    ModelSettings,
    ProviderSettings,
    Reminder,
    RuleState,
    SettingChange,
    StoredBehaviour,
    StoredRule,
)
from agents.settings_service import update_limits
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry, withdraw_entries
from chat.models import Conversation
from oracle_site.data_export import iter_document
from settings_ui import data_export
from tests.agents.models.factories import run_of
from tests.chat.factories import Talk, grown

EMPTY_LISTS = (
    "changes", "tokens", "conversations", "runs", "entries",
    "rules", "behaviours", "behaviour_texts", "switches", "rule_states", "reminders", "approvals",
)  # fmt: skip
BASE_URL = "https://models.example/v1"
SECRET = "sk-very-secret-0123"


@sync_to_async
def prepared() -> tuple[User, str]:
    """Somebody with everything; the text of their token."""
    talk = Talk("Why is the sea salt?")
    grown(talk, 40)
    user = talk.user
    run_of(user, talk.project, question="Asked in the terminal?")
    update_limits(user, {"max_iterations": 20})
    ModelSettings.for_user(user)
    sealed = {"sealed_key": encrypt(SECRET), "key_hint": "0123"}
    ModelSettings.objects.update(**sealed)
    ProviderSettings.objects.create(user=user, provider="own", base_url=BASE_URL, **sealed)
    return user, ApiToken.issue(user, "Backup", ["ask"])[1]


@pytest.mark.django_db(transaction=True)
async def test_everything_is_sent_piece_by_piece_and_no_secret_with_it() -> None:
    user, token = await prepared()
    client = AsyncClient()
    await sync_to_async(client.force_login)(user)
    response = await client.get("/settings/data/export.json", secure=True)
    assert response.streaming
    assert response["Content-Disposition"].endswith(f'filename="oracle-{user.username}.json"')
    text = b"".join([piece async for piece in response]).decode()  # type: ignore[attr-defined]
    found = json.loads(text)
    assert found["settings"]["agent"]["max_iterations"] == 20
    assert [change["new"] for change in found["changes"]] == ["20"]
    assert [one["name"] for one in found["tokens"]] == ["Backup"]
    (conversation,) = found["conversations"]
    assert len(conversation["exchanges"]) == 40
    assert found["runs"][-1]["question"] == "Asked in the terminal?"
    assert len(found["runs"]) == 41
    assert found["other_providers"] == [{"provider": "own", "base_url": BASE_URL}]
    sealed_key = (await ModelSettings.objects.aget(user=user)).sealed_key
    for secret in (SECRET, token, sealed_key, user.password, "digest"):
        assert not secret or secret not in text


@pytest.mark.django_db
def test_others_are_not_in_it() -> None:
    own, other = Talk("My question?"), Talk("Their question?", name="eve")
    SettingChange.objects.create(user=other.user, by=own.user, name="x", old="", new="theirs")
    text = "".join(iter_document(own.user))
    assert "My question?" in text
    assert "Their question?" not in text
    assert "theirs" not in text


@pytest.mark.django_db
def test_somebody_without_anything_gets_a_proper_file() -> None:
    found = json.loads("".join(iter_document(User.objects.create_user("new"))))
    assert found["other_providers"] == []
    for name in EMPTY_LISTS:
        assert found[name] == []


@pytest.mark.django_db
def test_entries_are_in_it_without_what_was_withdrawn_and_what_others_wrote() -> None:
    talk, other = Talk("Why?"), User.objects.create_user("eve")
    own, project = Author.person(talk.user.pk), talk.project.pk
    for text, author in (
        ("We take LFP.", own),
        ("Zeppelins.", own),
        ("Theirs.", Author.person(other.pk)),
    ):
        last = push_entry(project, "power", NewEntry(text, "decision"), author)
    withdraw_entries(last.thread.entries.filter(number=2), None)
    entries = json.loads("".join(iter_document(talk.user)))["entries"]
    assert [(each["thread"], each["number"], each["text"]) for each in entries] == [
        ("power", 1, "We take LFP."),
        ("power", 2, ""),
    ]
    assert entries[1]["withdrawn_at"]
    Membership.objects.all().delete()
    assert json.loads("".join(iter_document(talk.user)))["entries"] == []


@pytest.mark.django_db
def test_a_deleted_conversation_is_left_out() -> None:
    talk = Talk("Why?")
    Conversation.objects.update(deleted_at="2026-01-01T00:00Z")
    found: dict[str, Any] = json.loads("".join(iter_document(talk.user)))
    assert found["conversations"] == []
    assert len(found["runs"]) == 1


@pytest.mark.django_db
def test_nothing_that_a_form_may_not_change_is_taken_for_a_setting() -> None:
    about = data_export.serialize_profile(User.objects.create_user("ada"))
    assert {"sealed_key", "key_hint"} & set(about["settings"]["models"]) == set()


@pytest.mark.django_db
def test_own_rules_switches_and_what_was_kept_are_in_it_and_nobody_elses() -> None:
    talk, other = Talk("Why?"), User.objects.create_user("eve")
    for user in (talk.user, other):
        name = user.username
        StoredRule.objects.create(level="own", user=user, name=f"{name}-rule", text="[rule]")
        StoredBehaviour.objects.create(level="own", user=user, name=f"{name}-way", text="(tree")
        BehaviourText.objects.create(digest=f"{name}-digest", text=f"{name}-text", outline={})
        run = run_of(user, talk.project, behaviour="gone", behaviour_digest=f"{name}-digest")
        ApprovalRequest.objects.create(run=run, words=f"{name}-no", expires_at=timezone.now())
        ControlSwitch.objects.create(user=user, kind="rule", name=f"{name}-switch", mode="off")
        RuleState.objects.create(
            user=user, project=talk.project, rule="own:x", key=f"{name}-key", value=[1]
        )
        Reminder.objects.create(
            user=user, project=talk.project, text=f"{name}-words", expires_at=timezone.now()
        )
    text = "".join(iter_document(talk.user))
    found, name = json.loads(text), talk.user.username
    assert [each["name"] for each in found["rules"]] == [f"{name}-rule"]
    assert [each["name"] for each in found["behaviours"]] == [f"{name}-way"]
    assert found["behaviour_texts"] == [{"name": "gone", "text": f"{name}-text"}]
    assert [each["name"] for each in found["switches"]] == [f"{name}-switch"]
    assert [each["key"] for each in found["rule_states"]] == [f"{name}-key"]
    assert [each["text"] for each in found["reminders"]] == [f"{name}-words"]
    assert [each["words"] for each in found["approvals"]] == [f"{name}-no"]
    assert "eve-" not in text
    assert found["settings"]["notifications"] == {"keeps_reminders": False}


@pytest.mark.django_db
def test_a_behaviour_whose_name_was_erased_is_not_in_it_though_others_have_its_text() -> None:
    talk, other = Talk("Why?"), User.objects.create_user("eve")
    BehaviourText.objects.create(digest="same", text="(tree", outline={})
    run_of(talk.user, talk.project, behaviour="", behaviour_digest="same")
    run_of(other, talk.project, behaviour="theirs", behaviour_digest="same")
    assert list(data_export.iter_behaviour_texts(talk.user)) == []
