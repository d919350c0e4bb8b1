"""The same bounds at every door, from one table."""

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from agents.core.config import LIMITS, AgentConfigBounds
from agents.models import UserAgentConfig
from settings_ui.forms.agent import AGENT_FIELDS
from settings_ui.forms.base import save
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import Case, browser, guesses, nonsense, numbers, stored

pytestmark = pytest.mark.django_db
each_number = pytest.mark.parametrize("case", numbers(), ids=str)
each_nonsense = pytest.mark.parametrize("case", nonsense(), ids=str)
each_guess = pytest.mark.parametrize("case", guesses(), ids=str)
HTMX = {"HX-Request": "true"}


@pytest.fixture
def ada() -> User:
    user = make_ada()
    UserAgentConfig.for_user(user)
    return user


# -- the row --------------------------------------------------------------------------------------


def row_accepts(user: User, case: Case) -> bool:
    row = UserAgentConfig.for_user(user)
    setattr(row, case.limit.name, case.typed)
    try:
        row.full_clean()
    except ValidationError as refused:
        return list(refused.message_dict) != [case.limit.name]
    return True


def test_the_row_holds_the_bounds(ada: User) -> None:
    assert [str(case) for case in numbers() if row_accepts(ada, case) is not case.ok] == []


def test_the_row_refuses_what_is_no_number(ada: User) -> None:
    assert [str(case) for case in nonsense() if row_accepts(ada, case)] == []


# -- the form -------------------------------------------------------------------------------------


def refusal(user: User, case: Case) -> str:
    """What the form says; nothing may be stored then."""
    before = stored(user)
    form = save(user, AGENT_FIELDS[case.limit.name], case.typed)
    if form.saved:
        assert getattr(UserAgentConfig.for_user(user), case.limit.name) == case.value
        return ""
    assert stored(user) == before
    assert form.status == 422
    return form.error


def sentence(limit: AgentConfigBounds) -> str:
    return f"Must be {limit.range_text}. Still using {limit.default:,}."


@each_number
def test_the_form_holds_the_bounds_and_says_them(ada: User, case: Case) -> None:
    assert refusal(ada, case) == ("" if case.ok else sentence(case.limit))


def test_the_form_refuses_what_is_no_number(ada: User) -> None:
    for case in nonsense():
        assert refusal(ada, case) == sentence(case.limit), case


def test_the_form_does_not_guess(ada: User) -> None:
    for case in guesses():
        assert refusal(ada, case) == sentence(case.limit), case


# -- the page -------------------------------------------------------------------------------------


@each_number
def test_the_page_holds_the_bounds(ada: User, case: Case) -> None:
    before = stored(ada)
    address = f"/settings/limits/{case.limit.name}/"
    response = browser(ada).post(address, {"value": case.typed}, secure=True, headers=HTMX)
    assert response.status_code == (200 if case.ok else 422)
    if not case.ok:
        assert "Still using" in response.content.decode()
        assert stored(ada) == before


# -- the database ---------------------------------------------------------------------------------


@each_number
def test_the_database_holds_the_bounds(ada: User, case: Case) -> None:
    change = f"UPDATE agents_useragentconfig SET {case.limit.name} = %s"  # noqa: S608  # our own names
    before = stored(ada)
    if case.ok:
        with connection.cursor() as cursor:
            cursor.execute(change, [case.value])
        return
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change, [case.value])
    assert stored(ada) == before


@pytest.mark.parametrize("name", LIMITS)
def test_the_database_refuses_nothing_at_all(ada: User, name: str) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        UserAgentConfig.objects.update(**{name: None})
