"""Coming in and going out."""

import threading
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.management.lookup import find_user
from agents.models import Project
from chat.accounts import forms, links
from chat.accounts.bootstrap import get_or_create_first_user
from chat.accounts.links import LinkTokens, build_sign_in_link
from chat.accounts.login_throttle import MAX_FAILURES
from chat.errors import InvalidAction
from oracle_site.management.commands.serve import Command
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db

PASSWORD = "a harbour in november"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password=PASSWORD)


def open_link(link: str, client: Client | None = None) -> tuple[int, Client]:
    client = client or Client()
    return client.get(link, secure=True).status_code, client


def link_to(user: User) -> str:
    return build_sign_in_link(user, "")


def signed_in(client: Client) -> bool:
    return client.get("/runs/", secure=True).status_code == 200


def sign_in(
    client: Client,
    password: str = PASSWORD,
    name: str = "ada",
    address: str = "10.0.0.1",
    **more: str,
) -> int:
    data = {"username": name, "password": password, **more}
    response = client.post("/sign-in/", data, secure=True, REMOTE_ADDR=address)
    assert isinstance(response.status_code, int)
    return response.status_code


# -- the link -------------------------------------------------------------------------------------


def test_a_link_is_at_the_address_that_was_given(ada: User) -> None:
    link = build_sign_in_link(ada, "http://127.0.0.1:8000/")
    assert link.startswith("http://127.0.0.1:8000/sign-in/")


def test_a_link_signs_in_and_leads_to_the_start_page(ada: User) -> None:
    client = Client()
    response = client.get(link_to(ada), secure=True)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert signed_in(client)


def test_a_link_works_once(ada: User) -> None:
    link = link_to(ada)
    assert open_link(link)[0] == 302
    status, client = open_link(link)
    assert status == 410
    assert not signed_in(client)


def test_a_link_works_once_also_within_the_second_of_an_earlier_sign_in(ada: User) -> None:
    ada.last_login = timezone.now().replace(microsecond=1)
    ada.save()
    link = link_to(ada)
    assert [open_link(link)[0] for _ in range(3)] == [302, 410, 410]


def test_twenty_people_with_the_same_link_are_one_session(transactional_db: None) -> None:
    link = link_to(User.objects.create_user("ada"))
    together = threading.Barrier(20)
    answers: list[int] = []

    def come() -> None:
        User.objects.count()  # the connection is open before they start
        together.wait(30)
        try:
            answers.append(open_link(link)[0])
        finally:
            connections.close_all()

    people = [threading.Thread(target=come) for _ in range(20)]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
    assert sorted(answers) == [302] + [410] * 19
    assert Session.objects.count() == 1


def test_of_two_that_have_read_the_link_before_either_used_it_one_comes_in(ada: User) -> None:
    readers = [User.objects.get(), User.objects.get()]
    assert [links.claim(reader) for reader in readers] == [True, False]


class AnotherClock(LinkTokens):
    """Of a machine whose clock is so many minutes behind, or ahead."""

    def __init__(self, minutes: float) -> None:
        super().__init__()
        self.minutes = minutes

    def _now(self) -> datetime:
        return super()._now() - timedelta(minutes=self.minutes)


@pytest.mark.parametrize(("minutes", "status"), [(59, 302), (61, 410)])
def test_a_link_works_for_an_hour(ada: User, minutes: int, status: int) -> None:
    link = link_to(ada)
    older = AnotherClock(minutes).make_token(ada)
    assert open_link(f"{link.rpartition('/')[0].rpartition('/')[0]}/{older}/")[0] == status


@pytest.mark.parametrize(("minutes", "status"), [(-0.05, 302), (-1, 410), (-60 * 24, 410)])
def test_a_clock_that_ran_ahead_does_not_lengthen_the_life_of_a_link(
    ada: User, minutes: float, status: int
) -> None:
    link = link_to(ada)
    of_the_future = AnotherClock(minutes).make_token(ada)
    assert open_link(f"{link.rpartition('/')[0].rpartition('/')[0]}/{of_the_future}/")[0] == status


@pytest.mark.parametrize(
    "rubbish",
    [
        "x/y",
        "MQ/x-y",
        "MQ/" + "a" * 5000,
        "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5/d-e",  # a number that no column holds
        "LTE/d-e",
        "%00/%00",
        "%F0%9F%92%A9/d-e",
        "Tm9uZQ/1-2",
        "MQ/-",
        "MQ/---",
        "MQ/zzzzzzzzzzzzzzzz-1",
    ],
)
def test_rubbish_is_answered_like_a_used_link(ada: User, rubbish: str) -> None:
    used = link_to(ada)
    open_link(used)
    answers = [Client().get(at, secure=True) for at in (used, f"/sign-in/{rubbish}/")]
    assert [answer.status_code for answer in answers] == [410, 410]
    assert answers[0].content == answers[1].content


def test_a_link_of_nobody_is_answered_like_a_used_one(ada: User) -> None:
    used, of_nobody = link_to(ada), link_to(User(pk=ada.pk + 1, username="nobody"))
    open_link(used)
    answers = [Client().get(at, secure=True) for at in (used, of_nobody)]
    assert [answer.status_code for answer in answers] == [410, 410]
    assert answers[0].content == answers[1].content


def test_one_persons_token_does_not_sign_in_another(ada: User) -> None:
    bob = User.objects.create_user("bob")
    token = links.link_tokens.make_token(ada)
    link = link_to(bob)
    assert open_link(f"{link.rpartition('/')[0].rpartition('/')[0]}/{token}/")[0] == 410


def test_a_deactivated_person_cannot_use_a_link(ada: User) -> None:
    link = link_to(ada)
    User.objects.update(is_active=False)
    assert open_link(link)[0] == 410


def test_a_link_ends_with_the_password_it_was_made_under(ada: User) -> None:
    link = link_to(ada)
    ada.set_password("another harbour")
    ada.save()
    assert open_link(link)[0] == 410


def test_a_preview_does_not_use_a_link_up(ada: User) -> None:
    link = link_to(ada)
    assert Client().head(link, secure=True).status_code == 405
    assert open_link(link)[0] == 302


@pytest.mark.parametrize("times", [1, 2])
def test_a_link_is_told_to_nobody(ada: User, times: int) -> None:
    link = link_to(ada)
    for _ in range(times):
        response = Client().get(link, secure=True)
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]
    assert link not in response.content.decode()


def test_a_link_gives_a_new_session_key(ada: User) -> None:
    client = Client()
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key
    open_link(link_to(ada), client)
    assert before
    assert client.session.session_key != before
    assert not Session.objects.filter(pk=before).exists()


def test_a_used_link_says_what_to_do() -> None:
    response = Client().get("/sign-in/MQ/x/", secure=True)
    html = response.content.decode()
    assert problems(html) == []
    assert "make run" in html
    assert "manage.py serve --sign-in" in html
    assert reverse("sign-in") in html


def test_a_used_link_tells_somebody_who_is_signed_in_that_they_are(ada: User) -> None:
    client = Client()
    client.force_login(ada)
    html = client.get("/sign-in/MQ/x/", secure=True).content.decode()
    assert problems(html) == []
    assert "You are signed in as ada" in Page(html).text()


# -- the first person -----------------------------------------------------------------------------


def test_a_site_without_anybody_gets_an_administrator_without_a_password() -> None:
    user = get_or_create_first_user()
    assert user == User.objects.get()
    assert (user.username, user.is_superuser, user.is_staff) == ("local", True, True)
    assert not user.has_usable_password()
    assert open_link(link_to(user))[0] == 302


def test_the_first_person_is_offered_the_sample_and_not_given_it() -> None:
    user = get_or_create_first_user()
    assert not Project.objects.exists()
    client = Client()
    client.force_login(user)
    page = client.get("/", secure=True, follow=True)
    assert "Add the sample project" in page.content.decode()


def test_the_person_that_a_command_made_becomes_administrator() -> None:
    made = find_user(None)
    assert not made.is_superuser
    user = get_or_create_first_user()
    assert user == made
    user.refresh_from_db()
    assert user.is_superuser
    assert user.is_staff


def test_an_only_user_with_a_password_stays_what_they_are(ada: User) -> None:
    assert get_or_create_first_user() == ada
    assert not User.objects.get().is_superuser


def test_of_many_the_first_active_administrator_comes(ada: User) -> None:
    gone = User.objects.create_superuser("gone", is_active=False)
    boss = User.objects.create_superuser("boss")
    User.objects.create_superuser("later")
    assert gone.pk < boss.pk
    assert get_or_create_first_user() == boss


def test_a_lonely_local_is_not_raised_once_there_are_others(ada: User) -> None:
    User.objects.create_user("local")
    with pytest.raises(InvalidAction, match="createsuperuser"):
        get_or_create_first_user()
    assert not User.objects.filter(is_superuser=True).exists()


def test_a_server_without_anybody_to_sign_in_says_so_and_serves(transactional_db: None) -> None:
    User.objects.create_user("ada", is_active=False)
    said = StringIO()
    assert Command(stderr=said)._find_sign_in_user() is None
    assert "No sign-in link." in said.getvalue()
    assert "createsuperuser" in said.getvalue()


# -- the password ---------------------------------------------------------------------------------


def test_a_password_signs_in(ada: User, client: Client) -> None:
    assert sign_in(client) == 302
    assert signed_in(client)


@pytest.mark.parametrize(("name", "password"), [("ada", "guess-77"), ("nobody", PASSWORD)])
def test_what_is_said_of_a_failure_does_not_tell_whether_the_name_exists(
    ada: User, client: Client, name: str, password: str
) -> None:
    data = {"username": name, "password": password}
    html = client.post("/sign-in/", data, secure=True).content.decode()
    assert problems(html) == []
    assert forms.INVALID_LOGIN_MESSAGE in Page(html).text()
    assert password not in html
    assert not signed_in(client)


def test_a_deactivated_person_cannot_sign_in_and_is_signed_out(ada: User, client: Client) -> None:
    sign_in(client)
    User.objects.update(is_active=False)
    assert not signed_in(client)
    assert sign_in(client) == 200


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "///evil.example",
        "javascript:alert(1)",
        "http://testserver/",  # here pages are for HTTPS only
        "https://testserver@evil.example/",
    ],
)
def test_nobody_is_sent_to_another_site(ada: User, client: Client, elsewhere: str) -> None:
    data = {"username": "ada", "password": PASSWORD, "next": elsewhere}
    response = client.post("/sign-in/", data, secure=True)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.get("/sign-in/", {"next": elsewhere}, secure=True)["Location"] == "/"


def test_people_are_sent_on_to_where_they_wanted(ada: User, client: Client) -> None:
    refused = client.get("/password/", secure=True)
    assert refused["Location"] == "/sign-in/?next=/password/"
    page = Page(client.get(refused["Location"], secure=True).content.decode())
    assert {"type": "hidden", "name": "next", "value": "/password/"} in page.all("input")
    data = {"username": "ada", "password": PASSWORD, "next": "/password/"}
    assert client.post("/sign-in/", data, secure=True)["Location"] == "/password/"


def test_signing_out_takes_a_post(ada: User, client: Client) -> None:
    sign_in(client)
    assert client.get("/sign-out/", secure=True).status_code == 405
    assert signed_in(client)
    assert client.post("/sign-out/", secure=True)["Location"] == "/sign-in/"
    assert not signed_in(client)


@pytest.mark.parametrize("address", ["/sign-in/", "/sign-out/", "/password/"])
def test_a_form_of_another_site_is_refused(ada: User, address: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    response = client.post(address, {"username": "ada", "password": PASSWORD}, secure=True)
    assert response.status_code == 403
    html = response.content.decode()
    assert problems(html) == []
    assert "This form is out of date" in html
    assert signed_in(client)


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(ada: User, client: Client) -> None:
    open_link(link_to(ada), client)
    cookie = client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["secure"]
    assert cookie["samesite"] == "Lax"
    assert cookie["max-age"] == 14 * 24 * 3600


@pytest.mark.parametrize("address", ["/sign-up/", "/signup/", "/register/", "/accounts/signup/"])
def test_there_is_no_page_to_sign_up(client: Client, address: str) -> None:
    assert client.get(address, secure=True).status_code == 404


# -- guessing -------------------------------------------------------------------------------------


def test_after_ten_failures_even_the_right_password_has_to_wait(ada: User, client: Client) -> None:
    assert [sign_in(client, "wrong") for _ in range(MAX_FAILURES + 1)] == [200] * MAX_FAILURES + [
        429
    ]
    response = client.post(
        "/sign-in/", {"username": " ADA", "password": PASSWORD}, secure=True, REMOTE_ADDR="10.0.0.1"
    )
    assert response.status_code == 429
    assert response["Retry-After"] == "300"
    html = response.content.decode()
    assert problems(html) == []
    assert forms.TOO_MANY_ATTEMPTS_MESSAGE in Page(html).text()
    assert ("div", {"class": "notice limit", "role": "alert"}) in Page(html).elements


def test_others_need_not_wait(ada: User, client: Client) -> None:
    User.objects.create_user("bob", password=PASSWORD)
    for _ in range(MAX_FAILURES + 1):
        sign_in(client, "wrong")
    assert sign_in(Client(), address="10.0.0.2") == 302
    assert sign_in(Client(), name="bob") == 302


def test_a_success_forgets_the_failures(ada: User) -> None:
    for _ in range(3):
        failed = [sign_in(Client(), "wrong") for _ in range(MAX_FAILURES - 1)]
        assert set(failed) == {200}
        assert sign_in(Client()) == 302


@pytest.mark.ci
def test_a_flood_of_other_names_does_not_unlock_one(ada: User, client: Client) -> None:
    for _ in range(MAX_FAILURES):
        sign_in(client, "wrong")
    for number in range(400):
        sign_in(client, "wrong", name=f"nobody-{number}")
    assert sign_in(client) == 429


def test_nobody_is_locked_out_by_others_who_use_their_name(ada: User) -> None:
    for number in range(3 * MAX_FAILURES):
        assert sign_in(Client(), "wrong", address=f"192.0.2.{number}") == 200
    assert sign_in(Client(), address="198.51.100.1") == 302


def test_an_empty_form_is_not_a_guess(ada: User, client: Client) -> None:
    assert {sign_in(client, "") for _ in range(MAX_FAILURES + 5)} == {200}
    assert sign_in(client) == 302


# -- setting one ----------------------------------------------------------------------------------


def set_password(client: Client, **data: str) -> int:
    response = client.post("/password/", data, secure=True)
    assert isinstance(response.status_code, int)
    return response.status_code


def test_whoever_came_by_the_link_sets_a_password_without_an_old_one() -> None:
    user = get_or_create_first_user()
    _, client = open_link(link_to(user))
    page = Page(client.get("/password/", secure=True).content.decode())
    assert "Set a password" in page.text("h1")
    assert "old_password" not in [at.get("name") for at in page.all("input")]
    new = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert set_password(client, **new) == 302
    assert "Your password is set" in client.get("/runs/", secure=True).content.decode()
    assert sign_in(Client(), name="local") == 302


def test_whoever_has_a_password_must_know_it(ada: User, client: Client) -> None:
    client.force_login(ada)
    new = {"new_password1": "another harbour", "new_password2": "another harbour"}
    assert set_password(client, **new) == 200
    assert set_password(client, **new, old_password="wrong") == 200
    assert set_password(client, **new, old_password=PASSWORD) == 302
    assert sign_in(Client(), "another harbour") == 302


def test_a_new_password_signs_out_other_browsers_only(ada: User, client: Client) -> None:
    other = Client()
    other.force_login(ada)
    client.force_login(ada)
    new = {"new_password1": "another harbour", "new_password2": "another harbour"}
    set_password(client, **new, old_password=PASSWORD)
    assert signed_in(client)
    assert not signed_in(other)


@pytest.mark.parametrize("weak", ["short", "1234567890123", "password123", "administrator"])
def test_a_weak_password_is_refused_and_the_page_says_why(client: Client, weak: str) -> None:
    client.force_login(User.objects.create_user("administrator"))
    response = client.post(
        "/password/", {"new_password1": weak, "new_password2": weak}, secure=True
    )
    html = response.content.decode()
    assert response.status_code == 200
    assert problems(html) == []
    assert any(at.get("aria-invalid") == "true" for at in Page(html).all("input"))


def test_the_password_page_is_for_people_who_are_signed_in(client: Client) -> None:
    assert client.get("/password/", secure=True)["Location"] == "/sign-in/?next=/password/"


@pytest.mark.parametrize("address", ["/sign-in/", "/password/"])
def test_the_pages_are_sound(ada: User, client: Client, address: str) -> None:
    if address == "/password/":
        client.force_login(ada)
    response = client.get(address, secure=True)
    assert problems(response.content.decode()) == []
    assert "no-store" in response["Cache-Control"]
