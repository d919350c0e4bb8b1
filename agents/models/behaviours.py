"""Behaviours that people have written, and the texts that runs have begun with."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from agents.models.control import StoredText


class StoredBehaviour(StoredText):
    """A behaviour of the site or of one person: a mode that those can choose."""

    class Level(models.TextChoices):
        SITE = "site", "Site"
        OWN = "own", "Own"

    level = models.CharField(max_length=8, choices=Level.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="behaviours"
    )
    """Whose own it is."""

    class Meta:
        ordering = ["level", "name", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(level="site", user=None) | Q(level="own", user__isnull=False),
                name="behaviour_belongs_to_its_level",
            ),
            models.UniqueConstraint(
                fields=["name"], condition=Q(level="site"), name="one_site_behaviour_per_name"
            ),
            models.UniqueConstraint(
                fields=["user", "name"],
                condition=Q(level="own"),
                name="one_own_behaviour_per_name",
            ),
        ]


class BehaviourText(models.Model):
    """What runs have begun with, once for each digest; gone with the words of the last of them."""

    digest = models.CharField(max_length=64, primary_key=True)
    text = models.TextField()
    outline = models.JSONField()
    """Its nodes as they are drawn: the words that it names may be gone by then."""

    def __str__(self) -> str:
        return self.digest[:12]
