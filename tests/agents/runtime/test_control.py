"""What a run is held to: all levels, switches, states and reminders, for one person."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from agents.core.rules.packaged import PACKAGED
from agents.core.rules.shipped import RULE_IDS
from agents.models import (
    ControlSwitch,
    NotificationSettings,
    Project,
    Reminder,
    RuleState,
    StoredRule,
    StoredSubscriber,
)
from agents.runtime import (
    control,
    find_file_problems,
    list_rules,
    list_subscribers,
    load_control,
)
from agents.tools.catalogue import TOOLS
from agents.tools.definition import define
from tests.agents.models.factories import ada, engine
from tests.support.notes import add_note

pytestmark = pytest.mark.django_db

RULE = """[rule]
id = "{name}"
trigger = "on_turn_end"
[[action]]
type = "log"
message = "so"
"""
SUBSCRIBER = """[subscriber]
id = "{name}"
name = "Ends"
[events]
types = ["turn.end"]
[output]
message = "ended"
"""


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Settings) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def user() -> User:
    return ada()


@pytest.fixture
def project(user: User) -> Project:
    return engine(user)


def add_rule(name: str, level: str, mode: str = "on", **whose: object) -> None:
    StoredRule.objects.create(
        name=name, text=RULE.format(name=name), level=level, mode=mode, **whose
    )


def keys(user: User, project: Project) -> set[str]:
    return {rule.key for rule in load_control(user, project).rules}


def test_what_is_shipped_holds_as_its_text_says(user: User, project: Project) -> None:
    assert keys(user, project) == {
        f"shipped:{name}"
        for name in (*RULE_IDS, *PACKAGED.names())
        if name not in ("answer-needs-source", "many-writes")
    }


def test_rules_of_the_four_levels_hold_and_nobody_elses(
    user: User, project: Project, data_folder: Path
) -> None:
    (data_folder / "rules").mkdir()
    (data_folder / "rules" / "a.toml").write_text(RULE.format(name="file"))
    eve = User.objects.create_user("eve")
    other = engine(eve)
    add_rule("row", "site")
    add_rule("same", "own", user=user)
    add_rule("same", "project", project=project)
    add_rule("theirs", "own", user=eve)
    add_rule("elsewhere", "project", project=other)
    add_rule("unused", "own", mode="off", user=user)
    shipped = {key for key in keys(user, project) if key.startswith("shipped:")}
    assert keys(user, project) - shipped == {"site:file", "site:row", "own:same", "project:same"}


def test_the_mode_of_a_row_goes_before_that_of_its_text(user: User, project: Project) -> None:
    add_rule("mine", "own", mode="shadow", user=user)
    (rule,) = (rule for rule in load_control(user, project).rules if rule.level == "own")
    assert rule.mode == "shadow"


def test_a_person_switches_what_is_shipped_and_nothing_of_a_project_or_the_site(
    user: User, project: Project
) -> None:
    add_rule("fixed", "project", project=project)
    add_rule("fixed", "site")
    for name in ("fixed", "slow-tool", "same-tool-fails"):
        mode = "shadow" if name == "slow-tool" else "off"
        ControlSwitch.objects.create(user=user, kind="rule", name=name, mode=mode)
    ControlSwitch.objects.create(user=user, kind="rule", name="answer-needs-source", mode="on")
    modes = {entry.rule.key: entry.rule.mode for entry in list_rules(user, project)}
    assert modes["shipped:slow-tool"] == "shadow"
    assert modes["shipped:same-tool-fails"] == "off"
    assert modes["shipped:answer-needs-source"] == "on"
    assert modes["project:fixed"] == modes["site:fixed"] == "on"


def test_subscribers_are_switched_unless_they_are_core(user: User, project: Project) -> None:
    StoredSubscriber.objects.create(name="ends", text=SUBSCRIBER.format(name="ends"))
    for name in ("tool-failures", "tokens"):
        ControlSwitch.objects.create(user=user, kind="subscriber", name=name, mode="off")
    switched = {entry.subscriber.id: entry.is_on for entry in list_subscribers(user)}
    assert not switched["tool-failures"]
    assert switched["tokens"]
    heard = {each.id for each in load_control(user, project).subscribers}
    assert "ends" in heard
    assert "tool-failures" not in heard
    assert "tokens" not in heard, "the loop itself gives that notice"


def test_a_row_that_cannot_be_read_is_left_out(user: User, project: Project) -> None:
    before = keys(user, project)
    StoredRule.objects.create(name="old", text="[rule", level="own", user=user)
    StoredSubscriber.objects.create(name="old", text="?")
    assert keys(user, project) == before


def test_a_file_goes_before_a_row_of_the_same_name(
    user: User, project: Project, data_folder: Path
) -> None:
    (data_folder / "rules").mkdir()
    (data_folder / "rules" / "a.toml").write_text(RULE.format(name="twice"))
    add_rule("twice", "site")
    found = [entry for entry in list_rules(user, project) if entry.rule.key == "site:twice"]
    assert [entry.file for entry in found] == ["rules/a.toml"]


def test_a_file_that_takes_away_a_tool_that_there_is_not_is_told(
    user: User, project: Project, data_folder: Path
) -> None:
    text = RULE.format(name="no-writing").replace('"log"', '"withhold"')
    (data_folder / "rules").mkdir()
    (data_folder / "rules" / "a.toml").write_text(
        text.replace('message = "so"', 'tool = "vault_wirte"')
    )
    (told,) = map(str, find_file_problems())
    assert told.startswith("rules/a.toml:")
    assert "there is no tool 'vault_wirte'; did you mean 'vault_write'?" in told
    assert "site:no-writing" not in keys(user, project)


def test_what_rules_remember_is_of_one_person_and_one_project(user: User, project: Project) -> None:
    add_rule("mine", "own", user=user)
    eve = User.objects.create_user("eve")
    for who, where, value in ((user, project, 1), (eve, project, 2), (user, engine(eve), 3)):
        RuleState.objects.create(user=who, project=where, rule="own:mine", key="n", value=value)
    RuleState.objects.create(user=user, project=project, rule="own:gone", key="n", value=4)
    assert load_control(user, project).states == {"own:mine": {"n": 1}}


def test_a_tool_that_asks_does_so_also_if_it_writes_nothing(
    user: User, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send() -> str:
        """Send it."""
        return "Sent."

    tools = [("send", define(send, asks="always")), ("look", define(send)), *TOOLS]
    monkeypatch.setattr(control, "TOOLS", tools)
    assert load_control(user, project).asks == {"send": "always"}
    Project.objects.filter(pk=project.pk).update(ask_before_writing="once")
    asks = load_control(user, project).asks
    assert (asks["send"], asks["vault_write"]) == ("always", "once")
    assert "look" not in asks


def test_notes_are_counted_only_if_a_rule_asks(user: User, project: Project) -> None:
    add_note(project, "Pumps.md", "# Pumps")
    assert load_control(user, project).note_count == 0
    ControlSwitch.objects.create(user=user, kind="rule", name="answer-needs-source", mode="on")
    assert load_control(user, project).note_count == 1


def test_reminders_are_given_where_they_are_switched_on_and_hold(
    user: User, project: Project
) -> None:
    here, now = uuid4(), timezone.now()
    later, eve = now + timedelta(hours=1), User.objects.create_user("eve")
    rows: list[dict[str, object]] = [
        {"text": "low", "priority": "low"},
        {"text": "here", "conversation_key": here, "project": project},
        {"text": "high", "priority": "high"},
        {"text": "over", "expires_at": now},
        {"text": "used", "used_at": now},
        {"text": "other talk", "conversation_key": uuid4()},
        {"text": "other project", "project": engine(eve)},
        {"text": "other person", "user": eve},
    ]
    for values in rows:
        Reminder.objects.create(**{"user": user, "expires_at": later, **values})
    assert load_control(user, project, here).reminders == ()
    NotificationSettings.objects.create(user=user, keeps_reminders=True)
    control = load_control(user, project, here)
    assert control.keeps_reminders
    assert [each.text for each in control.reminders] == ["high", "here", "low"]
    assert [each.text for each in load_control(user, project).reminders] == ["high", "low"]


def test_the_digest_tells_whether_two_runs_were_held_to_the_same(
    user: User, project: Project
) -> None:
    first = load_control(user, project).digest
    assert load_control(user, project).digest == first
    add_rule("mine", "own", mode="off", user=user)
    assert load_control(user, project).digest == first
    StoredRule.objects.update(mode="shadow")
    second = load_control(user, project).digest
    StoredRule.objects.update(mode="on")
    assert len({first, second, load_control(user, project).digest}) == 3


def test_two_rules_with_one_id_are_told_and_warned_of_once(
    user: User, project: Project, data_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (data_folder / "rules").mkdir()
    for name in ("a", "b"):
        (data_folder / "rules" / f"{name}.toml").write_text(RULE.format(name="doubled"))
    for _ in range(3):
        load_control(user, project)
    told = [record.getMessage() for record in caplog.records]
    assert told == ["there are two rules site:doubled; the first one holds"]
    (problem,) = find_file_problems()
    assert "rules/a.toml has the id 'doubled' too" in str(problem)
