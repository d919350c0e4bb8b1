"""Who asks on the command line, where nobody says it."""

import pytest
from django.contrib.auth.models import User
from django.core.management.base import CommandError

from agents.management.lookup import find_user

pytestmark = pytest.mark.django_db


def test_the_only_administrator_asks_also_where_others_were_invited() -> None:
    root = User.objects.create_superuser("root")
    User.objects.create_user("ada")
    assert find_user(None) == root
    assert find_user("ada").username == "ada"


@pytest.mark.parametrize("administrators", [0, 2])
def test_of_several_one_is_named(administrators: int) -> None:
    for number in range(administrators):
        User.objects.create_superuser(f"root{number}")
    User.objects.create_user("ada")
    User.objects.create_user("bob")
    with pytest.raises(CommandError, match="Say who asks with --user: ada, bob"):
        find_user(None)
