"""Makes a site for the servers of the fault suite: tables, files, people, a long note."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oracle_site.settings")
django.setup()

from django.conf import settings  # noqa: E402  # after the set-up
from django.contrib.auth.models import User  # noqa: E402  # after the set-up
from django.core.management import call_command  # noqa: E402  # after the set-up

from agents.models import Project  # noqa: E402  # after the set-up
from agents.vault.author import Author  # noqa: E402  # after the set-up
from agents.vault.project_notes import ProjectNotes  # noqa: E402  # after the set-up
from tests.faults.client import USERS  # noqa: E402  # after the set-up
from tests.faults.summary import LONG_NOTE  # noqa: E402  # after the set-up

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    if not any(settings.STATIC_ROOT.iterdir()):
        call_command("collectstatic", interactive=False, verbosity=0)
    people = [User.objects.create(username=name) for name in USERS]
    project = Project.objects.create(name="engine")
    project.members.add(*people)
    body = "".join(f"Line {number}.\n" for number in range(1_600))
    ProjectNotes(project.pk, Author.importer()).write(LONG_NOTE, body)
