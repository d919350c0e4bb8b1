"""Links that sign somebody in, once."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import base36_to_int, urlsafe_base64_decode, urlsafe_base64_encode

LINK_MAX_AGE_SECONDS = 60 * 60
CLOCK_SKEW_SECONDS = 5
"""By how much the clocks of two machines may differ."""


class LinkTokens(PasswordResetTokenGenerator):
    """A token is good for an hour, and until its user signs in or gets another password."""

    key_salt = "chat.accounts.LinkTokens"  # whatever the module is called: it keeps links valid

    def _make_hash_value(self, user: AbstractBaseUser, timestamp: int) -> str:
        # With microseconds, which Django leaves out for databases that do not have them: else a
        # link would survive a sign-in within the second of the one before.
        last = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk} {user.password} {last} {timestamp}"

    def check_token(self, user: User | None, token: str | None) -> bool:
        # One of the future was made while a clock ran ahead: nobody knows how old it is.
        is_ours = super().check_token(user, token)
        return (
            is_ours
            and -CLOCK_SKEW_SECONDS <= self._age_seconds(token or "") <= LINK_MAX_AGE_SECONDS
        )

    def _age_seconds(self, token: str) -> int:
        made = base36_to_int(token.partition("-")[0])
        return self._num_seconds(self._now()) - made


link_tokens = LinkTokens()


def build_sign_in_link(user: User, base_url: str) -> str:
    """Return the address that signs `user` in, once. Asks the database nothing."""
    named = {
        "uidb64": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": link_tokens.make_token(user),
    }
    return base_url.rstrip("/") + reverse("sign-in-link", kwargs=named)


def holder(uidb64: str, token: str) -> User | None:
    """Return whom a link signs in, or None whatever is wrong with it."""
    try:
        pk = int(urlsafe_base64_decode(uidb64).decode("ascii"))
        user = User.objects.filter(pk=pk, is_active=True).first()
    except (ValueError, OverflowError):
        return None
    return user if link_tokens.check_token(user, token) else None


def claim(user: User) -> bool:
    """Claim a link. Of many that come with it at once, the first to change the row has it."""
    unchanged = User.objects.filter(pk=user.pk, is_active=True, last_login=user.last_login)
    return unchanged.update(last_login=timezone.now()) == 1
