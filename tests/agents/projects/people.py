"""People and their project: Ada owns it, Bob writes in it, Rae reads it, Eve is not in it."""

from dataclasses import dataclass, field

from django.contrib.auth.models import User

from agents.models import Membership, Project
from agents.projects.services import create_project

Role = Membership.Role


def person(name: str) -> User:
    return User.objects.create_user(name)


@dataclass
class Team:
    ada: User = field(default_factory=lambda: person("ada"))
    bob: User = field(default_factory=lambda: person("bob"))
    rae: User = field(default_factory=lambda: person("rae"))
    eve: User = field(default_factory=lambda: person("eve"))
    project: Project = field(init=False)

    def __post_init__(self) -> None:
        self.project = create_project(self.ada, "Engine")
        for user, role in ((self.bob, Role.MEMBER), (self.rae, Role.READER)):
            Membership.objects.create(project=self.project, user=user, role=role)
