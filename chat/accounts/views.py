"""How people come in: a link that signs in once, a password, and the first person of a new site.

There is no page to sign up. The first administrator comes by the link that `make run` prints, or
by `manage.py createsuperuser`; further people come by the link of a project (`invitations.py`).
"""

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chat.accounts.forms import PasswordForm, SignInForm
from chat.accounts.links import claim, holder
from chat.accounts.login_throttle import WINDOW_SECONDS


@require_GET  # a HEAD, as previews send it, would use the link up
@never_cache
def use_link(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    """Sign in. Whatever is wrong with a link, the answer is the same."""
    user = holder(uidb64, token)
    if user is not None and claim(user):
        login(request, user)
        response: HttpResponse = redirect("home")
    else:
        response = render(request, "accounts/link_spent.html", status=410)
    response.headers["Referrer-Policy"] = "no-referrer"  # the address is a secret
    return response


class SignInView(LoginView):
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


@method_decorator(never_cache, name="dispatch")
class PasswordView(PasswordChangeView):
    form_class = PasswordForm
    template_name = "accounts/password.html"
    success_url = reverse_lazy("home")

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        messages.success(self.request, "Your password is set. Other browsers are signed out.")
        return super().form_valid(form)
