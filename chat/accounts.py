"""How people come in: a link that signs in once, a password, and the first person of a new site.

There is no page to sign up. The first administrator comes by the link that `make run` prints, or
by `manage.py createsuperuser`; further people are added by an administrator.
"""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import base36_to_int, urlsafe_base64_decode, urlsafe_base64_encode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.management.people import LOCAL_USER, sample_project
from chat.attempts import WINDOW_SECONDS, Attempts
from chat.errors import CannotDo

LINK_SECONDS = 60 * 60
WRONG = "Username or password is wrong. Capital letters matter in both."
GOOD = "Ten characters or more, not only digits, neither common nor close to your username."
TOO_MANY = (
    "Too many failed attempts with this username. Wait five minutes, then try again; "
    "or ask whoever runs this server for a sign-in link."
)


# -- the link -------------------------------------------------------------------------------------


class LinkTokens(PasswordResetTokenGenerator):
    """A token is good for an hour, and until its user signs in or gets another password."""

    key_salt = "chat.accounts.LinkTokens"

    def _make_hash_value(self, user: AbstractBaseUser, timestamp: int) -> str:
        # With microseconds, which Django leaves out for databases that do not have them: else a
        # link would survive a sign-in within the second of the one before.
        last = user.last_login.isoformat() if user.last_login else ""
        return f"{user.pk} {user.password} {last} {timestamp}"

    def check_token(self, user: User | None, token: str | None) -> bool:
        return super().check_token(user, token) and self._age(token or "") <= LINK_SECONDS

    def _age(self, token: str) -> int:
        made = base36_to_int(token.partition("-")[0])
        return self._num_seconds(self._now()) - made


link_tokens = LinkTokens()


def sign_in_link(user: User, address: str) -> str:
    """The address that signs `user` in, once. Asks the database nothing."""
    named = {
        "uidb64": urlsafe_base64_encode(force_bytes(user.pk)),
        "token": link_tokens.make_token(user),
    }
    return address.rstrip("/") + reverse("sign-in-link", kwargs=named)


@require_GET  # a HEAD, as previews send it, would use the link up
@never_cache
def use_link(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    """Sign in. Whatever is wrong with a link, the answer is the same."""
    user = _holder(uidb64, token)
    if user is not None and _claim(user):
        login(request, user)
        response: HttpResponse = redirect("start")
    else:
        response = render(request, "accounts/link_spent.html", status=410)
    response.headers["Referrer-Policy"] = "no-referrer"  # the address is a secret
    return response


def _holder(uidb64: str, token: str) -> User | None:
    try:
        pk = int(urlsafe_base64_decode(uidb64).decode("ascii"))
        user = User.objects.filter(pk=pk, is_active=True).first()
    except (ValueError, OverflowError):
        return None
    return user if link_tokens.check_token(user, token) else None


def _claim(user: User) -> bool:
    """Of many that come with the same link at once, the first one to change the row has it."""
    unchanged = User.objects.filter(pk=user.pk, is_active=True, last_login=user.last_login)
    return unchanged.update(last_login=timezone.now()) == 1


# -- the first person -----------------------------------------------------------------------------


def first_user() -> User:
    """Whom a new site's link is for: its only user, or its first administrator.

    A site without anybody gets `local`. An ordinary `local` without a password was made by a
    command on this machine, and whoever can print links here owns the site: it is raised.
    """
    user = _only_user() or User.objects.filter(is_superuser=True, is_active=True).first()
    if user is None:
        raise CannotDo(
            "No user of this site is an active administrator. "
            "Make one with `manage.py createsuperuser`, then sign in with its password."
        )
    if not user.projects.exists():
        sample_project(user)
    return user


def _only_user() -> User | None:
    if not User.objects.exists():
        administrator = {"is_staff": True, "is_superuser": True, "password": make_password(None)}
        User.objects.get_or_create(username=LOCAL_USER, defaults=administrator)
    users = list(User.objects.order_by("pk")[:2])
    if len(users) != 1 or not users[0].is_active:
        return None
    (user,) = users
    if user.username == LOCAL_USER and not user.has_usable_password():
        user.is_staff = user.is_superuser = True
        user.save(update_fields=["is_staff", "is_superuser"])
    return user


# -- the password ---------------------------------------------------------------------------------


class SignInForm(AuthenticationForm):
    """Name and password. What it says of a failure is the same whether or not the name exists."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if name is None or not password:
            return self.cleaned_data
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        attempts = Attempts(name, address)
        if not attempts.begin():
            raise ValidationError(TOO_MANY, code="too_many")
        cleaned = super().clean()
        attempts.forget()
        return cleaned

    def get_invalid_login_error(self) -> ValidationError:
        return ValidationError(WRONG, code="invalid_login")


class SignIn(LoginView):
    """`next` is followed on this site only: Django sees to it."""

    form_class = SignInForm
    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        limited = form.has_error(NON_FIELD_ERRORS, "too_many")
        context = self.get_context_data(form=form, limited=limited)
        response = self.render_to_response(context, status=429 if limited else 200)
        if limited:
            response.headers["Retry-After"] = str(WINDOW_SECONDS)
        return response


class PasswordForm(PasswordChangeForm):
    """Whoever came by a link has no password yet: there is no old one to ask for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)
        self.fields["new_password1"].help_text = GOOD
        if not self.user.has_usable_password():
            del self.fields["old_password"]


@method_decorator(never_cache, name="dispatch")
class Password(PasswordChangeView):
    form_class = PasswordForm
    template_name = "accounts/password.html"
    success_url = reverse_lazy("start")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        messages.success(self.request, "Your password is set. Other browsers are signed out.")
        return super().form_valid(form)
