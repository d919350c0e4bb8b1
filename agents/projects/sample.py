"""The sample project that a new site offers."""

from django.contrib.auth.models import User
from django.db import transaction

from agents.models import Membership, Project
from agents.projects.notes import add_sample_notes

SAMPLE_PROJECT_NAME = "Tidewatch"


@transaction.atomic
def create_sample_project(user: User) -> Project:
    project = Project.objects.create(name=SAMPLE_PROJECT_NAME)
    Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)
    add_sample_notes(project)
    return project
