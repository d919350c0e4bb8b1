"""Tokens that programs sign in with. Only a digest is stored; the token is shown once."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

TOKEN_PREFIX = "oracle_"  # noqa: S105 - what every token begins with
BEGINNING_CHARS = len(TOKEN_PREFIX) + 4
TOUCH_INTERVAL = timedelta(minutes=1)
"""How exact `last_used_at` is: not every request writes."""
MAX_API_TOKENS = 20


class Scope(models.TextChoices):
    ASK = "ask", "Ask, follow and cancel runs"
    READ = "read", "Read conversations and runs"
    SETTINGS = "settings", "Read and change settings"
    PROJECTS = "projects", "Manage projects and their members"


def known_scopes(scopes: object) -> None:
    if not isinstance(scopes, list) or not scopes or set(scopes) - set(Scope.values):
        raise ValidationError(f"Choose at least one of: {', '.join(Scope.values)}.")


class ApiToken(models.Model):
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    beginning = models.CharField(max_length=16, editable=False)
    """What a person recognises it by."""
    scopes = models.JSONField(default=list, validators=[known_scopes])
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.beginning}…)"

    @classmethod
    def issue(cls, user: User, name: str, scopes: list[str]) -> "tuple[ApiToken, str]":
        """Create a token and return it with its text, which is not stored; or ValidationError."""
        if cls.objects.filter(user=user, revoked_at=None).count() >= MAX_API_TOKENS:
            raise ValidationError(f"You have {MAX_API_TOKENS} tokens. Revoke one first.")
        text = TOKEN_PREFIX + secrets.token_urlsafe(32)
        row = cls(user=user, name=name, scopes=scopes, digest=token_digest(text))
        row.beginning = text[:BEGINNING_CHARS]
        row.full_clean()
        row.save()
        return row, text

    @classmethod
    def authenticate(cls, text: str) -> "ApiToken | None":
        """Return the token with this text, if it may be used: not revoked, its user active."""
        found = cls.objects.select_related("user").filter(
            digest=token_digest(text), revoked_at=None, user__is_active=True
        )
        return found.first()

    def allows(self, scope: str) -> bool:
        return scope in self.scopes

    def touch(self) -> None:
        """Remember that it was used just now."""
        now = timezone.now()
        if self.last_used_at is None or now - self.last_used_at > TOUCH_INTERVAL:
            type(self).objects.filter(pk=self.pk).update(last_used_at=now)

    def revoke(self) -> None:
        type(self).objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())


def token_digest(text: str) -> str:
    """Return a plain digest: enough, as the text has 256 bits of chance in it."""
    return hashlib.sha256(text.encode()).hexdigest()
