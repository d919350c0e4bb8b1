"""Subscribers of the site in the admin: checked when they are saved, never overwritten blindly."""

from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from agents.admin.subscribers import EXAMPLE
from agents.models import AuditEntry, StoredSubscriber
from agents.runtime import list_subscribers
from tests.agents.core.notify.factories import write

pytestmark = pytest.mark.django_db
ADD = "/admin/agents/storedsubscriber/add/"


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def save(admin: Client, where: str = ADD, **given: Any) -> str:
    answer = admin.post(where, {"is_on": "on", **given}, secure=True)
    return "saved" if answer.status_code == 302 else answer.content.decode()


def change_address(row: StoredSubscriber) -> str:
    return f"/admin/agents/storedsubscriber/{row.pk}/change/"


def test_the_example_that_a_new_one_begins_with_is_good(admin: Client) -> None:
    assert "slow-calls" in admin.get(ADD, secure=True).content.decode()
    assert save(admin, text=EXAMPLE) == "saved"
    row = StoredSubscriber.objects.get()
    assert (row.name, row.version, str(row.changed_by)) == ("slow-calls", 1, "root")
    assert "slow-calls" in [one.subscriber.id for one in list_subscribers(None)]
    assert AuditEntry.objects.filter(verb="site").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (write(types='["tool.call.failur"]'), "Line 5, column 10: there is no event"),
        (write(message="{x.__class__}"), "is not the name of a field"),
        ("[subscriber", "this is not TOML"),
        ("x" * 5_000, "this is longer than 4,096 characters"),
        (write(id="tokens"), "There is another subscriber with the id tokens."),
        (write(id="unsupported-claims"), "There is another subscriber"),
        (write(output="system_type = 'limit_reached'"), "can be used here"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_nothing_is_stored(
    admin: Client, text: str, problem: str
) -> None:
    assert problem in save(admin, text=text)
    assert not StoredSubscriber.objects.exists()


def test_of_two_tabs_the_second_is_told_that_the_first_has_saved(admin: Client) -> None:
    save(admin, text=write(id="own"))
    row = StoredSubscriber.objects.get()
    assert save(admin, change_address(row), text=write(id="own-a"), version=1) == "saved"
    told = save(admin, change_address(row), text=write(id="own-b"), version=1)
    assert '<ul class="errorlist nonfield"' in told  # nobody sees those of a hidden field
    assert "Somebody has changed it meanwhile." in told
    row.refresh_from_db()
    assert (row.name, row.version) == ("own-a", 2)


def test_the_id_of_one_that_is_no_longer_understood_is_taken(admin: Client) -> None:
    StoredSubscriber.objects.create(name="own", text="[subscriber]")
    assert "There is another subscriber with the id own." in save(admin, text=write(id="own"))


def test_one_that_is_deleted_speaks_no_more(admin: Client) -> None:
    save(admin, text=write(id="own"))
    row = StoredSubscriber.objects.get()
    where = f"/admin/agents/storedsubscriber/{row.pk}/delete/"
    assert admin.post(where, {"post": "yes"}, secure=True).status_code == 302
    assert "own" not in [one.subscriber.id for one in list_subscribers(None)]


def test_what_is_wrong_with_files_of_the_operator_is_told_with_its_place(
    admin: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "bad.toml").write_text("[extra]")
    page = unescape(admin.get("/admin/agents/storedsubscriber/", secure=True).content.decode())
    assert "One of the site's files cannot be read. rules/bad.toml:1:2: there is no table" in page
