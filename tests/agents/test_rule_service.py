"""Rules of people, projects and the site: who sees, changes and switches them."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from pytest_django import Settings

from agents.core.control.toml import InvalidToml
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.models import (
    AuditEntry,
    ControlSwitch,
    Membership,
    Project,
    RuleState,
    SettingChange,
    StoredRule,
)
from agents.projects.errors import ProjectForbidden, ProjectNotFound, ProjectRefused
from agents.projects.services import archive_project
from agents.rule_listing import ListedRule, get_rule, list_rules_for
from agents.rule_service import (
    change_rule,
    create_rule,
    delete_rule,
    switch_rule,
)
from agents.runtime import list_rules
from agents.stored_texts import MAX_STORED, TextConflict, TextLocked, TextNotFound, TextRefused
from tests.agents.models.factories import ada as make_ada

pytestmark = pytest.mark.django_db

RULE = """[rule]
id = "{name}"
trigger = "on_turn_end"
[condition]
expression = "history.calls.vault_search >= 5"
[[action]]
type = "stop"
message = "Enough."
"""


def write(name: str = "mine") -> str:
    return RULE.format(name=name)


@pytest.fixture
def ada() -> User:
    return make_ada()


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob")


@pytest.fixture
def project(ada: User, bob: User) -> Project:
    made = Project.objects.create(name="Harbour", slug="harbour")
    Membership.objects.create(project=made, user=ada, role=Membership.Role.OWNER)
    Membership.objects.create(project=made, user=bob, role=Membership.Role.MEMBER)
    return made


@pytest.fixture
def staff() -> User:
    user = User.objects.create_user("sue", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="change_storedrule"))
    return User.objects.get(pk=user.pk)


def find(user: User, name: str) -> ListedRule:
    (found,) = [listed for listed in list_rules_for(user) if listed.name == name]
    return found


def names(user: User) -> set[str]:
    return {listed.name for listed in list_rules_for(user)}


# -- who sees what --------------------------------------------------------------------------------


def test_own_rules_are_seen_by_nobody_else(ada: User, bob: User) -> None:
    row = create_rule(ada, write())
    assert "mine" in names(ada)
    assert "mine" not in names(bob)
    with pytest.raises(TextNotFound):
        get_rule(bob, str(row.pk))


def test_a_projects_rule_is_seen_by_its_members_and_changed_by_its_owners(
    ada: User, bob: User, project: Project
) -> None:
    create_rule(ada, write("ours"), level="project", project_id="harbour")
    assert find(ada, "ours").can_edit
    seen = find(bob, "ours")
    assert (seen.can_edit, seen.can_switch) == (False, False)
    assert seen.lock == ("It is the project's: only an owner of Harbour can change or switch it.")
    for attempt in (
        lambda: change_rule(bob, seen, write("ours"), 1),
        lambda: switch_rule(bob, seen, "off"),
        lambda: delete_rule(bob, seen),
    ):
        with pytest.raises(TextLocked):
            attempt()
    assert StoredRule.objects.get().mode == "on"
    Membership.objects.filter(user=bob).delete()
    assert "ours" not in names(bob)


def test_only_owners_of_a_project_that_is_open_write_its_rules(
    ada: User, bob: User, project: Project
) -> None:
    with pytest.raises(ProjectForbidden):
        create_rule(bob, write(), level="project", project_id=project.pk)
    with pytest.raises(ProjectNotFound):
        create_rule(
            User.objects.create_user("eve"), write(), level="project", project_id=project.pk
        )
    with pytest.raises(TextRefused):
        create_rule(ada, write(), level="project")
    create_rule(ada, write("ours"), level="project", project_id=project.pk)
    archive_project(project, by=ada)
    with pytest.raises(ProjectRefused):
        create_rule(ada, write("more"), level="project", project_id=project.pk)
    assert "archived" in find(ada, "ours").lock


def test_the_sites_rules_are_for_staff_with_the_permission(ada: User, staff: User) -> None:
    plain = User.objects.create_user("otto", is_staff=True)
    for user in (ada, plain):
        with pytest.raises(TextLocked):
            create_rule(user, write(), level="site")
    create_rule(staff, write("all"), level="site")
    assert find(staff, "all").can_edit
    assert find(ada, "all").lock.startswith("It is the site's")
    entry = AuditEntry.objects.get(verb="site")
    assert (entry.by, entry.detail["new"]) == (staff, "all: on")


# -- writing --------------------------------------------------------------------------------------


def test_a_text_that_is_no_rule_is_not_stored(ada: User) -> None:
    for text in ("", "[rule", write().replace("history", "histroy"), write() * 30):
        with pytest.raises(InvalidToml):
            create_rule(ada, text)
    assert not StoredRule.objects.exists()


def test_a_tool_that_there_is_not_cannot_be_withheld(ada: User) -> None:
    text = write().replace('"stop"\nmessage = "Enough."', '"withhold"\ntool = "vault_serch"')
    with pytest.raises(InvalidToml, match="did you mean 'vault_search'"):
        create_rule(ada, text)


def test_an_id_is_taken_once_and_its_loss_is_told(ada: User, bob: User) -> None:
    create_rule(ada, write())
    with pytest.raises(TextRefused, match="already a rule mine"):
        create_rule(ada, write())
    create_rule(bob, write())
    create_rule(ada, write("other"))
    with pytest.raises(TextRefused):
        change_rule(ada, find(ada, "other"), write("mine"), 1)


def test_there_are_only_so_many(ada: User) -> None:
    for number in range(MAX_STORED):
        create_rule(ada, write(f"rule-{number}"))
    with pytest.raises(TextRefused, match="Delete one first"):
        create_rule(ada, write("one-more"))


def test_whoever_comes_at_the_same_time_is_refused_too(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another tab stores the last one that fits while this one's text is read."""
    for number in range(MAX_STORED - 1):
        create_rule(ada, write(f"rule-{number}"))

    def check_meanwhile(text: str) -> Rule:
        StoredRule.objects.get_or_create(level="own", user=ada, name="other", text="")
        return read_rule(text)

    monkeypatch.setattr("agents.rule_service.check_rule", check_meanwhile)
    with pytest.raises(TextRefused, match="Delete one first"):
        create_rule(ada, write("mine"))
    assert StoredRule.objects.count() == MAX_STORED


@pytest.fixture
def file_rule(settings: Settings, tmp_path: Path) -> Path:
    """A rule of the operator's, with the id `same`."""
    settings.DATA_DIR = tmp_path
    (tmp_path / "rules").mkdir()
    path = tmp_path / "rules" / "a.toml"
    path.write_text(write("same"))
    return path


def test_a_file_of_the_operator_goes_before_a_rule_of_the_site_and_that_is_told(
    staff: User, file_rule: Path
) -> None:
    create_rule(staff, write("mine"), level="site")
    with pytest.raises(TextRefused, match="There is already a rule same here"):
        create_rule(staff, write("same"), level="site")
    with pytest.raises(TextRefused, match="There is already a rule same here"):
        change_rule(staff, find(staff, "mine"), write("same"), None)
    StoredRule.objects.create(level="site", name="same", text=write("same"))
    file, row = [listed for listed in list_rules_for(staff) if listed.name == "same"]
    assert (file.note, row.can_edit) == ("", True)
    assert row.note == "Not in force: rules/a.toml, one of the operator's files, has the same id."
    assert create_rule(staff, write("same")).level == "own"


def test_who_brought_a_rule_is_told(ada: User) -> None:
    assert find(ada, "too-many-unsupported-claims").package
    assert not find(ada, "slow-tool").package
    with pytest.raises(TextLocked, match="comes with a package"):
        delete_rule(ada, find(ada, "too-many-unsupported-claims"))


def test_what_a_database_cannot_keep_is_replaced(ada: User) -> None:
    row = create_rule(ada, write().replace("Enough.", "En\ud800ough.").replace("\n", "\r\n"))
    assert "\r" not in row.text
    assert "En�ough." in row.text


def test_two_tabs_cannot_overwrite_each_other(ada: User) -> None:
    create_rule(ada, write())
    seen_by_both = find(ada, "mine")
    first = change_rule(ada, seen_by_both, write().replace("5", "6"), 1)
    assert first.version == 2
    with pytest.raises(TextConflict) as told:
        change_rule(ada, seen_by_both, write().replace("5", "7"), 1)
    assert told.value.row.text == first.text
    assert StoredRule.objects.get().text == first.text
    delete_rule(ada, find(ada, "mine"))
    with pytest.raises(TextNotFound):
        change_rule(ada, seen_by_both, write(), 2)


def test_a_change_keeps_the_mode_and_is_recorded(ada: User) -> None:
    create_rule(ada, write())
    switch_rule(ada, find(ada, "mine"), "shadow")
    row = change_rule(ada, find(ada, "mine"), write("renamed"), None)
    assert (row.mode, row.name) == ("shadow", "renamed")
    delete_rule(ada, find(ada, "renamed"))
    told = [(each.old, each.new) for each in SettingChange.objects.order_by("pk")]
    assert told == [
        ("", "mine: on"),
        ("mine: on", "mine: shadow"),
        ("mine: shadow", "renamed: changed"),
        ("renamed: shadow", ""),
    ]


# -- switching ------------------------------------------------------------------------------------


def test_shipped_rules_are_switched_for_oneself_and_not_changed(ada: User, bob: User) -> None:
    slow = find(ada, "slow-tool")
    switch_rule(ada, slow, "off")
    assert (find(ada, "slow-tool").mode, find(bob, "slow-tool").mode) == ("off", "on")
    switch_rule(ada, slow, "shadow")
    assert ControlSwitch.objects.get().mode == "shadow"
    with pytest.raises(TextLocked, match="comes with Oracle"):
        change_rule(ada, slow, write(), None)
    with pytest.raises(TextLocked):
        delete_rule(ada, slow)


def test_runs_are_held_to_what_is_switched(ada: User, project: Project) -> None:
    create_rule(ada, write())
    create_rule(ada, write("ours"), level="project", project_id=project.pk)
    switch_rule(ada, find(ada, "mine"), "shadow")
    modes = {entry.rule.id: entry.rule.mode for entry in list_rules(ada, project)}
    assert (modes["mine"], modes["ours"]) == ("shadow", "on")


def test_a_mode_that_there_is_not_is_refused(ada: User) -> None:
    with pytest.raises(TextRefused, match="on, shadow, off"):
        switch_rule(ada, find(ada, "slow-tool"), "maybe")


def test_a_rule_that_is_no_longer_understood_can_be_seen_changed_and_deleted(ada: User) -> None:
    create_rule(ada, write())
    StoredRule.objects.update(text="[rule]\nid = 'mine'\nnew_key = 1")
    broken = find(ada, "mine")
    assert (broken.rule, broken.title, broken.can_edit) == (None, "mine", True)
    assert change_rule(ada, broken, write(), 1).version == 2


def test_a_level_that_there_is_not_is_refused(ada: User, project: Project) -> None:
    for level in ("other", "a level that is much too long"):
        with pytest.raises(TextRefused, match="for yourself, for a project or for the site"):
            create_rule(ada, write(), level=level, project_id=project.pk)


@pytest.mark.parametrize("level", ["own", "project"])
def test_what_a_rule_remembers_goes_with_it(
    ada: User, bob: User, project: Project, level: str
) -> None:
    place = project.pk if level == "project" else None
    elsewhere = Project.objects.create(name="Pier", slug="pier")
    renamed = create_rule(ada, write("first"), level=level, project_id=place)
    deleted = create_rule(ada, write("second"), level=level, project_id=place)
    for rule in (renamed, deleted):
        for user, here in ((ada, project), (bob, project), (ada, elsewhere)):
            key = f"{level}:{rule.name}"
            RuleState.objects.create(user=user, project=here, rule=key, key="seen", value=1)
    change_rule(ada, get_rule(ada, str(renamed.pk)), write("other"), renamed.version)
    delete_rule(ada, get_rule(ada, str(deleted.pk)))
    left = {(row.user, row.project) for row in RuleState.objects.all()}
    assert left == ({(bob, project)} if level == "own" else {(ada, elsewhere)})
