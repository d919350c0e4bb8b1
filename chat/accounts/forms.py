"""Forms to sign in, to choose a password, and to make an account by a link."""

from typing import TYPE_CHECKING, Any

from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, UserCreationForm
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from chat.accounts.login_throttle import SignInAttempts

if TYPE_CHECKING:
    CreationForm = UserCreationForm[User]
else:
    CreationForm = UserCreationForm

INVALID_LOGIN_MESSAGE = "Username or password is wrong. Capital letters matter in both."
STRENGTH_HELP_TEXT = (
    "Ten characters or more, not only digits, neither common nor close to your username."
)
NAME_TAKEN_MESSAGE = "This name is taken. Choose another, or sign in if it is yours."
TOO_MANY_ATTEMPTS_MESSAGE = (
    "Too many failed attempts with this username. Wait five minutes, then try again; "
    "or ask whoever runs this server for a sign-in link."
)


class SignInForm(AuthenticationForm):
    """Name and password. What it says of a failure is the same whether or not the name exists."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if name is None or not password:
            return self.cleaned_data
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        attempts = SignInAttempts(name, address)
        if not attempts.register():
            raise ValidationError(TOO_MANY_ATTEMPTS_MESSAGE, code="too_many")
        cleaned = super().clean()
        attempts.reset()
        return cleaned

    def get_invalid_login_error(self) -> ValidationError:
        return ValidationError(INVALID_LOGIN_MESSAGE, code="invalid_login")


class PasswordForm(PasswordChangeForm):
    """Whoever came by a link has no password yet: there is no old one to ask for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)
        self.fields["new_password1"].help_text = STRENGTH_HELP_TEXT
        if not self.user.has_usable_password():
            del self.fields["old_password"]


class NewAccountForm(CreationForm):
    """Name and password of somebody new."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, label_suffix="", **kwargs)
        self.fields["username"].help_text = "Letters, digits and @ . + - _"
        self.fields["password1"].help_text = STRENGTH_HELP_TEXT
        self.fields["password2"].help_text = ""

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if User.objects.filter(username__iexact=name).exists():
            raise ValidationError(NAME_TAKEN_MESSAGE)
        return name
