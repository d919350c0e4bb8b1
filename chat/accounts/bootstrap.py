"""Create the first user of a new site."""

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from agents.models.users import LOCAL_USER
from chat.errors import InvalidAction


def get_or_create_first_user() -> User:
    """Return whom a new site's link is for: its only user, or its first administrator.

    A site without anybody gets `local`. An ordinary `local` without a password was made by a
    command on this machine, and whoever can print links here owns the site: it is raised.
    """
    user = _get_only_user() or User.objects.filter(is_superuser=True, is_active=True).first()
    if user is None:
        raise InvalidAction(
            "No user of this site is an active administrator. "
            "Create one with `manage.py createsuperuser`, then sign in with its password."
        )
    return user


def _get_only_user() -> User | None:
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
