"""Rules, subscribers and reminders that people have written, and what is switched on for whom."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from agents.models.projects import Project
from agents.models.runs import AgentRun
from agents.models.settings import UserSettings

MAX_ID_LENGTH = 60
MAX_REMINDER_LENGTH = 300


class ControlMode(models.TextChoices):
    ON = "on", "On"
    SHADOW = "shadow", "Shadow"
    OFF = "off", "Off"


class StoredText(models.Model):
    """A text that somebody wrote for runs to be held to. `version` grows with every change, so
    that a second tab's stale one is noticed."""

    name = models.CharField(max_length=MAX_ID_LENGTH)
    """The id that its text gives it."""
    text = models.TextField()
    version = models.PositiveIntegerField(default=1)
    changed_at = models.DateTimeField(default=timezone.now)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class StoredRule(StoredText):
    """A rule of the site, of a project or of one person. Its mode is the row's, not its text's."""

    class Level(models.TextChoices):
        SITE = "site", "Site"
        PROJECT = "project", "Project"
        OWN = "own", "Own"

    level = models.CharField(max_length=8, choices=Level.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="rules"
    )
    """Whose own it is."""
    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, related_name="rules")
    """Whose runs it holds for, if it is a project's."""
    mode = models.CharField(max_length=8, choices=ControlMode.choices, default=ControlMode.ON)

    class Meta:
        ordering = ["level", "name", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(level="site", user=None, project=None)
                | Q(level="project", user=None, project__isnull=False)
                | Q(level="own", user__isnull=False, project=None),
                name="rule_belongs_to_its_level",
            ),
            models.UniqueConstraint(
                fields=["name"], condition=Q(level="site"), name="one_site_rule_per_name"
            ),
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=Q(level="project"),
                name="one_project_rule_per_name",
            ),
            models.UniqueConstraint(
                fields=["user", "name"], condition=Q(level="own"), name="one_own_rule_per_name"
            ),
        ]


class StoredSubscriber(StoredText):
    """A subscriber that staff have written for all runs of the site."""

    is_on = models.BooleanField(default=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["name"], name="one_subscriber_per_name")]


class ControlSwitch(models.Model):
    """What a person has chosen about a subscriber, or a rule, that others have written.

    Those that are core, and the rules of the site and of projects, cannot be switched.
    """

    class Kind(models.TextChoices):
        RULE = "rule", "Rule"
        SUBSCRIBER = "subscriber", "Subscriber"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="control_switches"
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    name = models.CharField(max_length=MAX_ID_LENGTH)
    mode = models.CharField(max_length=8, choices=ControlMode.choices)
    """Subscribers know no shadow."""
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["user_id", "kind", "name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "kind", "name"], name="one_switch_per_name"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.mode}"


class RuleState(models.Model):
    """One value that a rule remembers, of a person's runs in a project. Written with a run's end;
    of two runs at once, the later one's values stay."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="rule_states"
    )
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rule_states")
    rule = models.CharField(max_length=MAX_ID_LENGTH + 8)
    """Its key: the id, with its level before it."""
    key = models.CharField(max_length=MAX_ID_LENGTH)
    value = models.JSONField(null=True)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["user_id", "project_id", "rule", "key"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "project", "rule", "key"], name="one_value_per_key"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.key}"


class Reminder(models.Model):
    """Words that a run has kept for a later one. A run that starts takes them (`used_by`), and
    when it has told the model they are used: `used_at`. One that ends without gives them back."""

    class Priority(models.TextChoices):
        HIGH = "high", "High"
        NORMAL = "normal", "Normal"
        LOW = "low", "Low"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reminders"
    )
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="reminders"
    )
    """Where it holds; None: in all projects of the person."""
    conversation_key = models.UUIDField(null=True, blank=True)
    """The conversation in which it holds; None: in any."""
    text = models.CharField(max_length=MAX_REMINDER_LENGTH)
    category = models.CharField(max_length=40, blank=True)
    priority = models.CharField(max_length=8, choices=Priority.choices, default=Priority.NORMAL)
    source_run = models.ForeignKey(
        AgentRun, on_delete=models.CASCADE, null=True, related_name="kept_reminders"
    )
    source_seq = models.PositiveIntegerField(null=True)
    """Of the chunk that kept it: storing the end of a run once more keeps nothing twice."""
    kept_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    used_by = models.ForeignKey(
        AgentRun, on_delete=models.SET_NULL, null=True, related_name="used_reminders"
    )
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-kept_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["source_run", "source_seq"], name="one_reminder_per_chunk"
            ),
        ]
        indexes = [
            models.Index(
                fields=["user", "project"], condition=Q(used_at=None), name="waiting_reminders"
            )
        ]

    def __str__(self) -> str:
        return self.text


class NotificationSettings(UserSettings):
    """What a person has set for what runs say."""

    keeps_reminders = models.BooleanField(
        default=False,
        help_text="Runs may keep a reminder for a later run, and are told those that were kept.",
    )

    class Meta:
        verbose_name = "notification settings"
