"""Behaviours of people and of the site: who sees and changes them."""

import pytest
from django.contrib.auth.models import Permission, User

from agents.behaviour_service import (
    MAX_TEXT_LENGTH,
    change_behaviour,
    check_behaviour,
    copy_text,
    create_behaviour,
    delete_behaviour,
    get_behaviour,
    list_behaviours_for,
)
from agents.core.behaviours import InvalidBehaviour
from agents.models import AuditEntry, SettingChange, StoredBehaviour
from agents.runtime import behaviours, get_mode
from agents.stored_texts import MAX_STORED, TextConflict, TextLocked, TextNotFound, TextRefused
from tests.agents.models.factories import ada as make_ada

pytestmark = pytest.mark.django_db


def write(name: str = "mine", say: str = "Go.") -> str:
    return f'(tree "{name}"\n  (repeater :until-success (turn :say "{say}")))'


@pytest.fixture
def ada() -> User:
    return make_ada()


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


@pytest.fixture
def staff() -> User:
    user = User.objects.create_user("sue", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_storedbehaviour"))
    return user


def test_an_own_one_is_seen_by_its_writer_alone(ada: User, bob: User) -> None:
    row = create_behaviour(ada, write())
    assert get_behaviour(ada, str(row.pk)).can_edit
    with pytest.raises(TextNotFound):
        get_behaviour(bob, str(row.pk))
    (change,) = SettingChange.objects.filter(user=ada)
    assert (change.name, change.old, change.new) == ("behaviour", "", "mine")


def test_one_of_the_site_is_seen_by_all_and_changed_by_staff(staff: User, bob: User) -> None:
    with pytest.raises(TextLocked):
        create_behaviour(bob, write(), level="site")
    row = create_behaviour(staff, write(), level="site")
    assert get_mode("mine", bob).level == "site"
    seen = get_behaviour(bob, str(row.pk))
    assert "only staff" in seen.lock
    with pytest.raises(TextLocked):
        change_behaviour(bob, seen, write(), 1)
    with pytest.raises(TextLocked):
        delete_behaviour(bob, seen)
    change_behaviour(staff, get_behaviour(staff, str(row.pk)), write(say="Well."), 1)
    assert AuditEntry.objects.filter(verb=AuditEntry.Verb.SITE).count() == 2


def test_two_tabs_do_not_overwrite_each_other(ada: User) -> None:
    row = create_behaviour(ada, write())
    listed = get_behaviour(ada, str(row.pk))
    changed = change_behaviour(ada, listed, write(say="One."), 1)
    assert changed.version == 2
    with pytest.raises(TextConflict) as conflict:
        change_behaviour(ada, listed, write(say="Two."), 1)
    assert conflict.value.row.text == write(say="One.")
    delete_behaviour(ada, listed)
    with pytest.raises(TextNotFound):
        change_behaviour(ada, listed, write(say="Two."), 2)


@pytest.mark.parametrize("name", ["default", "quick", "librarian", "oracle-agent", "ask-first"])
def test_a_name_that_is_a_mode_already_is_refused_with_its_place(ada: User, name: str) -> None:
    with pytest.raises(InvalidBehaviour, match="1:7: there is already a mode"):
        create_behaviour(ada, write(name))


def test_a_name_that_one_has_already_is_refused(ada: User) -> None:
    create_behaviour(ada, write())
    other = create_behaviour(ada, write("other"))
    with pytest.raises(TextRefused, match="another name"):
        create_behaviour(ada, write())
    with pytest.raises(TextRefused, match="another name"):
        change_behaviour(ada, get_behaviour(ada, str(other.pk)), write(), 1)
    assert get_behaviour(ada, str(other.pk)).name == "other"


def test_too_many_and_too_long_ones_are_refused(ada: User) -> None:
    for number in range(MAX_STORED):
        create_behaviour(ada, write(f"mine-{number}"))
    with pytest.raises(TextRefused, match="Delete one first"):
        create_behaviour(ada, write("one-more"))
    with pytest.raises(InvalidBehaviour, match="longer than 20,000"):
        create_behaviour(ada, write(say="x" * MAX_TEXT_LENGTH))


def test_every_one_can_be_copied_under_a_name_that_is_free(ada: User) -> None:
    for listed in list_behaviours_for(ada):
        create_behaviour(ada, copy_text(listed, set()))
        assert copy_text(listed, {f"my-{listed.name}"}).count(f'"my-{listed.name}-2"') == 1
    copied = StoredBehaviour.objects.get(name="my-plan-then-do")
    assert copied.text.startswith('(tree "my-plan-then-do"')


def test_one_may_name_another_and_is_kept_with_its_problem_when_that_goes(ada: User) -> None:
    inner = create_behaviour(ada, write("inner"))
    outer = create_behaviour(ada, '(tree "outer" (subtree inner))')
    delete_behaviour(ada, get_behaviour(ada, str(inner.pk)))
    listed = get_behaviour(ada, str(outer.pk))
    assert listed.behaviour is None
    assert "there is no behaviour 'inner'" in str(listed.problems[0])
    with pytest.raises(InvalidBehaviour):
        change_behaviour(ada, listed, '(tree "outer" (subtree outer))', 1)


def test_what_is_only_typed_takes_no_memory(ada: User) -> None:
    create_behaviour(ada, write())
    before = behaviours._parse.cache_info()
    for number in range(20):
        schema = f":blackboard-schema {{:number {number}}}"
        check_behaviour(ada, f'(tree "new" {schema} (subtree mine))')
    after = behaviours._parse.cache_info()
    assert after.currsize <= before.currsize + 1
