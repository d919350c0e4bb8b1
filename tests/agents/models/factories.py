"""People and projects that the tests of rows share."""

from django.contrib.auth.models import User

from agents.audit import signing
from agents.models import AgentRun, Membership, Project


def ada() -> User:
    """A user with nothing set."""
    return User.objects.create_user("ada")


def engine(owner: User) -> Project:
    """A project that somebody owns."""
    project = Project.objects.create(name="engine")
    Membership.objects.create(project=project, user=owner, role=Membership.Role.OWNER)
    return project


def run_of(user: User, project: Project, **values: object) -> AgentRun:
    """A run that has just begun."""
    usual: dict[str, object] = {
        "question": "What is it?",
        "tree": "default",
        "model": "offline",
        "config": {},
    }
    run = AgentRun(user=user, project=project, **{**usual, **values})
    signing.sign_start(run)
    run.save(force_insert=True)
    return run
